#!/bin/sh
# with_progress.sh WHAT LOG COMMAND...: run COMMAND with all it says in the file LOG, and show that it is alive. On a terminal
# one line that goes on, elsewhere a line every 15 s. Ends with the command's status; where it failed, with the end of LOG.
what=$1 log=$2
shift 2
mkdir -p "$(dirname "$log")"
: > "$log"
"$@" >> "$log" 2>&1 &
command=$!
trap 'kill "$command" 2> /dev/null; exit 130' INT TERM
seconds=0
printf '%s ...\n' "$what"
while kill -0 "$command" 2> /dev/null; do
  sleep 1
  seconds=$((seconds + 1))
  # What pip is at: the package that it looks for, fetches or builds, or that it installs what it has fetched.
  now=$(sed -n -e 's/^ *Collecting \([A-Za-z0-9_.-]*\).*/fetches \1/p' -e 's/^ *Building wheels\{0,1\} for .*packages: \(.*\)/builds \1/p' \
    -e 's/^Installing collected packages.*/unpacks what it fetched/p' "$log" | tail -n 1 | cut -c 1-50)
  count=$(grep -c '^ *Collecting ' "$log")
  state="$seconds s${now:+, $count packages, $now}"
  if [ -t 1 ]; then
    printf '\r\033[K  %s' "$state"
  elif [ $((seconds % 15)) -eq 0 ]; then
    printf '  %s\n' "$state"
  fi
done
wait "$command"
status=$?
if [ -t 1 ]; then printf '\r\033[K'; fi
if [ "$status" -ne 0 ]; then
  printf '%s: failed. The last lines of %s:\n' "$what" "$log" >&2
  tail -n 12 "$log" | sed 's/^/  /' >&2
  exit "$status"
fi
printf '  done in %d s\n' "$seconds"
