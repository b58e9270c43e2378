# Shared by run and full: headings, timing, early exit, tools.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME
tools=$root/build/ci/venv
jobs=${JOBS:-2}
if [ -z "${EVENHAND_SHARED:-}" ] && [ -d "$root/../shared" ]; then
  EVENHAND_SHARED=$(cd "$root/../shared" && pwd)
  export EVENHAND_SHARED
fi

# step NAME COMMAND...: a heading, the command, its time; the first failure ends the run.
step() {
  local name=$1 begin=$SECONDS status
  shift
  printf '\n=== %s\n' "$name"
  set +e # in a condition, bash would ignore -e inside the command too
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  if [ $status -ne 0 ]; then
    printf '!!! %s failed after %d s\n' "$name" $((SECONDS - begin))
    exit 1
  fi
  printf -- '--- %s: %d s\n' "$name" $((SECONDS - begin))
}

# debian NAME...: install the packages that are missing; elsewhere they must be there already.
debian() {
  local missing=() package
  command -v dpkg-query >/dev/null || return 0
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# A virtual environment with the developers' tools of pyproject.toml, the package in it as an editable install.
developer_tools() {
  [ -x "$tools/bin/python" ] || python3 -m venv "$tools"
  "$tools/bin/pip" install -q --upgrade 'pip>=25.1'
  "$tools/bin/pip" install -q --group dev
}

# The two blocks of README.md, as a newcomer types them: in a copy that has nothing but the tracked and
# not yet committed files, and with no variable set but those given, and by which this machine reaches its
# package registries. The second runs the whole suite.
newcomer() {
  files | tar --null -T - -cf - | tar -xf - -C "$fresh_copy"
}

readme_block() { # N [VARIABLE=VALUE...]
  local block=$root/build/ci/block-$1.sh
  awk -v n="$1" '/^```sh$/ {k++; on = (k == n); next} /^```$/ {on = 0} on' README.md >"$block"
  [ -s "$block" ]
  cat "$block"
  shift
  local network
  mapfile -t network < <(env | grep -E '^(PIP_|SSL_CERT_|REQUESTS_CA_BUNDLE=|(https?|no)_proxy=|(HTTPS?|NO)_PROXY=)')
  (cd "$fresh_copy" && env -i HOME="$HOME" PATH="$PATH" "${network[@]}" "$@" sh -e "$block")
}

editable_install() {
  PATH=$tools/bin:$PATH "$tools/bin/pip" install -q --no-build-isolation -e .
}

# Tracked files and those not yet committed, separated by NUL.
files() { # [PATTERN...]
  git -c safe.directory='*' ls-files -z --cached --others --exclude-standard "$@" |
    while IFS= read -r -d '' file; do
      if [ -e "$file" ]; then printf '%s\0' "$file"; fi
    done
}

cmake_preset() { # PRESET
  local preset=$1 packages
  packages=$("$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cmake --preset "$preset" -DPython_EXECUTABLE="$tools/bin/python" \
    -DCMAKE_PREFIX_PATH="$packages;$packages/pybind11/share/cmake/pybind11" >/dev/null
  cmake --build --preset "$preset" -j "$jobs"
}
