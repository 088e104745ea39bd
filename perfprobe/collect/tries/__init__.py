"""Changes put on a program from outside, without editing a file: `perfprobe run --try`.

`declared.py` lists them. The other files hold the patches: functions of torch, the value of the word, and a
`Change`, which puts functions in place of torch's and counts how often the change was applied. A patch is
part of the changed program, so signals of the program may end it, as they may end torch's own functions.
"""
