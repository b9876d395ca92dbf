"""Judges the runs of `make matrix` and lays them out: precision and recall for each finding, what was taken for what."""

import collections

HEAVY = ("medium", "high")


def judged(run, case):
    """One run: was the finding there (None where none is asked for), and which others of weight had no business there."""
    _, _, wanted, also, _ = case
    may = set(also.split()) | {wanted} | set(run["borne_out"])
    found = None
    if wanted:
        found = any(f["id"] == wanted and (run["rank"] is None or not f["ranks"] or run["rank"] in f["ranks"])
                    for f in run["findings"])
    stray = {f["id"] for f in run["findings"]
             if f["severity"] in HEAVY and f["id"] not in may and f["caused_by"] not in (may - {None})}
    elsewhere = {f["id"] for f in run["findings"] if f["id"] == wanted and not found}
    return found, sorted(stray | elsewhere)


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "–"


def rows(runs, cases):
    """(what was run, {asked, found, false}), one row a case and {finding: false alarms} over all of them."""
    false, table = collections.Counter(), []
    for case in cases:
        seen = [(run, *judged(run, case)) for run in runs if run["case"] == case[0]]
        strays = collections.Counter(s for _, _, stray in seen for s in stray)
        false.update(strays)
        hits = sum(bool(found) for _, found, _ in seen)
        table.append((case, seen, hits, strays))
    return table, false


def render(runs, cases, command):
    table, false = rows(runs, cases)
    seeds = sorted({run["seed"] for run in runs})
    broken = sum(run["failed"] for run in runs)
    out = [f"`{command}`: {len(runs)} recorded jobs, seeds {seeds[0]} to {seeds[-1]} (thresholds were set on seeds below 1000); names, "
           "arguments and environment blanked before the report.", "",
           "| made wrong | runs | found | recall | false alarms elsewhere | precision | taken for, besides |", "|---|--:|--:|--:|--:|--:|---|"]
    for case, seen, hits, strays in table:
        if not seen:
            continue
        others = ", ".join(f"`{name}` {n}" for name, n in sorted(strays.items()))
        if case[2]:
            wrong = false[case[2]]
            out.append(f"| `{case[2]}` | {len(seen)} | {hits} | {percent(hits, len(seen))} | {wrong} | {percent(hits, hits + wrong)} | {others} |")
        else:
            quiet = sum(not stray for _, _, stray in seen)
            out.append(f"| {case[0]} | {len(seen)} | nothing: {quiet} | – | – | – | {others} |")
    asked = sum(len(seen) for case, seen, _, _ in table if case[2])
    hits = sum(hits for case, _, hits, _ in table if case[2])
    bad, clean = sum(false.values()), sum(len(seen) for case, seen, _, _ in table if not case[2])
    out += ["", f"All together: recall {percent(hits, asked)} of {asked} faults, precision {percent(hits, hits + bad)}; {clean} jobs had "
                "nothing to find." + (f" {broken} runs gave no report and count as missed." if broken else "")]
    missed = [f"`{run['fault']}` seed {run['seed']}" for case, seen, _, _ in table if case[2] for run, found, _ in seen if not found]
    if missed:
        out.append(f"Missed: {'; '.join(missed)}.")
    stray = [f"{name} in {run['fault'] or case[0]} seed {run['seed']}" for case, seen, _, _ in table for run, _, names in seen for name in names]
    if stray:
        out.append(f"False alarms: {'; '.join(stray)}.")
    return "\n".join(out)


def write(path, text):
    """Between the marks of a document, nothing else is touched."""
    with open(path, encoding="utf-8") as source:
        page = source.read()
    begin, end = page.index("<!-- matrix -->\n") + len("<!-- matrix -->\n"), page.index("<!-- /matrix -->")
    with open(path, "w", encoding="utf-8") as target:
        target.write(page[:begin] + text + "\n" + page[end:])
