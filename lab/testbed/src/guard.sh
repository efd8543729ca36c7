# Runs a command in a session of its own, and ends all of it when standard input ends: when whoever started it, here or
# behind ssh, is gone by whatever death. $1 is how many seconds it has for an orderly end; the rest is the command.
grace=$1
shift
exec 3<&0 </dev/null
setsid -- "$@" 3<&- &
child=$!
(
    while read -r _ <&3; do :; done
    # It may be that it has no session of its own yet.
    kill -s TERM -- -$child 2>/dev/null || kill -s TERM $child 2>/dev/null || exit 0
    # A tenth of a second a step, until nothing of the session is left.
    step=0
    while [ $step -lt $((grace * 10)) ] && kill -s 0 -- -$child 2>/dev/null; do
        sleep 0.1
        step=$((step + 1))
    done
    kill -s KILL -- -$child 2>/dev/null
) >/dev/null 2>&1 &
guard=$!
exec 3<&-
wait $child
status=$?
# What it left behind goes too.
kill -s KILL -- -$child 2>/dev/null
kill -s KILL $guard 2>/dev/null
# 255 is what ssh itself ends with.
[ $status -ne 255 ] || status=254
exit $status
