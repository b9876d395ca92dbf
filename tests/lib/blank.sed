# blank.sed - takes from the text of a trace (sed -E) what would give away who ran what: names of processes and threads,
# their arguments, and the values of what was recorded of the environment. `comm` of other events is a communicator.
/ (proc|thread) / s/ (comm|cmd)=("[^"]*"|[^ ]*)/ \1=x/g
s/( attr .* key=env\.[^ ]* value=).*/\1x/
