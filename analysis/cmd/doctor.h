/* doctor.h - one line per thing that recording needs: is it here, and what to do if not. */
#ifndef TRSHIM_ANALYSIS_DOCTOR_H
#define TRSHIM_ANALYSIS_DOCTOR_H

enum verdict { VERDICT_OK, VERDICT_NOTE, VERDICT_WARN, VERDICT_FAIL };

/* What the checks share. */
struct doctor {
    const char *python; /* the job's Python; may be missing */
    enum verdict worst;
};

/* Prints one finding; fix NULL: nothing to do. FAIL means that recording cannot work. */
void doctor_say(struct doctor *doctor, enum verdict verdict, const char *item, const char *fix, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

typedef void (*doctor_check_fn)(struct doctor *doctor);

/* In the order in which they are made; NULL-terminated. */
extern const doctor_check_fn doctor_checks[];

#endif
