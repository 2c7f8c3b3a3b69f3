#!/usr/bin/env bash
# README's two commands on a machine that has nothing but Node, npm and git: `scripts/bare-machine.sh FOLDER`.
#
# As root: in a mount namespace of its own, where the programs below do not exist, as a user without any rights, in a clone of this commit.
# Without root: the programs are left out of PATH. FOLDER must not exist; it is left behind, with `repository/node_modules` installed.
set -euo pipefail
folder=$(realpath -m "$1")
hidden='^(bwrap|tmux|sqlite3|curl|wget|openssl|python[0-9.]*|pip[0-9.]*|chromium.*|chromedriver|chrome|google-chrome.*|docker|psql|sudo)$'

if [ "${2:-}" = inside ]; then
  cd "$folder/repository"
  for program in bwrap tmux sqlite3 curl python3 chromium; do
    if command -v "$program"; then echo "$program is still there" >&2; exit 1; fi
  done
  printf 'a bare machine: user %s, node %s, npm %s\n' "$(id -u)" "$(node --version)" "$(npm --version)"
  npm ci
  npm test
  exit
fi

source=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
mkdir -p "$folder/home" "$folder/tmp"
git clone -q "$source" "$folder/repository"
clean=(env -i "HOME=$folder/home" "TMPDIR=$folder/tmp" "LANG=${LANG:-C.UTF-8}" "CI=${CI:-}")
if [ "$(id -u)" != 0 ]; then
  mkdir "$folder/bin"
  for program in /usr/local/bin/* /usr/bin/* /bin/*; do
    [[ $(basename "$program") =~ $hidden ]] || ln -sf "$program" "$folder/bin/"
  done
  exec "${clean[@]}" "PATH=$folder/bin" bash "$source/scripts/bare-machine.sh" "$folder" inside
fi

# 65534 is nobody's. Folders above must let that user through to its own.
chown -R 65534:65534 "$folder"
chmod 755 "$folder"
cp "$source/scripts/bare-machine.sh" "$folder/bare-machine.sh"
export folder hidden
unshare --mount bash -euc '
  mount -t tmpfs tmpfs /mnt
  for bin in /usr/bin /usr/local/bin; do
    layer=/mnt/$(basename "$(dirname "$bin")")
    mkdir -p "$layer/upper" "$layer/work"
    mount -t overlay overlay -o "lowerdir=$bin,upperdir=$layer/upper,workdir=$layer/work" "$bin"
    for program in "$bin"/*; do
      name=$(basename "$program")
      if [[ $name =~ $hidden ]]; then rm -f "$program"; fi
    done
  done
  exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$@"
' bash "${clean[@]}" PATH=/usr/local/bin:/usr/bin:/bin bash "$folder/bare-machine.sh" "$folder" inside
