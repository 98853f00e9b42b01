// Fetches the etcd of Debian 13, whatever Debian this machine has (that of Debian 12 is too old for clusters), without
// installing anything: `node .ci/etcd.mjs [FOLDER]` unpacks it once in FOLDER (default: .cache) and prints the folder
// of its programs. Needs no root. Plain JavaScript for any Node from 20 on.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SUITE = 'trixie'
const PACKAGES = ['etcd-server', 'etcd-client']
const KEYRINGS = ['/usr/share/keyrings/debian-archive-keyring.pgp', '/usr/share/keyrings/debian-archive-keyring.gpg']
/** Time for another process that is fetching, and then as much again for fetching here. */
const PATIENCE_S = '300'

const FETCH = `
test -e "$1" && exit
tree=$1 building=$2 suite=$3 keyring=$4 packages=$5
shift 5
private() {
  apt-get -q -o Dir::State::lists="$building/lists" -o Dir::Cache="$building/cache" \\
    -o Dir::Etc::sourcelist="$building/etcd.sources" -o Dir::Etc::sourceparts="$building/none" \\
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$building/none" -o APT::Default-Release= \\
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o Acquire::Retries=2 "$@"
}
for mirror in "$@"; do
  rm -rf --one-file-system "$building"
  mkdir -p "$building/lists/partial" "$building/cache/archives/partial" "$building/none" "$building/tree"
  cd "$building" || exit 1
  printf 'Types: deb\\nURIs: %s\\nSuites: %s\\nComponents: main\\nSigned-By: %s\\n' \\
    "$mirror" "$suite" "$keyring" > etcd.sources
  private update && private download $packages || continue
  for package in *.deb; do dpkg -x "$package" tree || exit 1; done
  mv tree "$tree" && rm -rf --one-file-system "$building"
  exit
done
exit 1
`

/** Returns the mirrors from which this machine gets its own suite: they have the other suites as well. */
function mirrors() {
  const folder = '/etc/apt/sources.list.d'
  const listed = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
  const files = ['/etc/apt/sources.list', ...listed].filter((file) => existsSync(file))
  const found = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    if (file.endsWith('.sources')) return text.split(/\n\s*\n/).flatMap(mirrorsOfStanza)
    return file.endsWith('.list') ? text.split('\n').flatMap(mirrorOfLine) : []
  })
  return [...new Set(found)]
}

function mirrorsOfStanza(stanza) {
  const words = (field) =>
    new RegExp(String.raw`^${field}:(.*(?:\n[ \t#].*)*)`, 'im')
      .exec(stanza)?.[1]
      ?.replaceAll(/^#.*$/gm, '')
      .trim()
      .split(/\s+/) ?? []
  return words('Suites').includes(hostSuite()) && words('Enabled')[0] !== 'no' ? words('URIs') : []
}

function mirrorOfLine(line) {
  const [, uri, suite] = /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)/.exec(line) ?? []
  return uri !== undefined && suite === hostSuite() ? [uri] : []
}

/** Returns the code name of this machine's Debian. */
function hostSuite() {
  return /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm'
}

/** Returns the end of the text as one line, to be a reason in a message. */
const inOneLine = (text) => text.trim().replaceAll(/\s+/g, ' ').slice(-500)

const say = (line) => process.stderr.write(`fulcrum: ${line}\n`)

function fail(line) {
  say(line)
  process.exit(1)
}

function fetched(cache) {
  const keyring = KEYRINGS.find((file) => existsSync(file))
  if (process.platform !== 'linux' || keyring === undefined) fail('this machine has no keyring of Debian')
  const recipe = createHash('sha256')
    .update([SUITE, ...PACKAGES, FETCH].join('\n'))
    .digest('hex')
    .slice(0, 16)
  const tree = join(cache, `etcd-${recipe}`)
  if (existsSync(tree)) return tree
  say(`fetching etcd, of Debian 13, into ${cache} …`)
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  const locked = ['-w', PATIENCE_S, `${tree}.lock`, 'timeout', PATIENCE_S]
  const fetch = ['sh', '-c', FETCH, 'sh', tree, `${tree}.building`, SUITE, keyring, PACKAGES.join(' '), ...mirrors()]
  const { status, stderr, error } = spawnSync('flock', [...locked, ...fetch], { encoding: 'utf8' })
  if (status !== 0) fail(`etcd of Debian 13 could not be fetched: ${inOneLine(error?.message ?? stderr)}`)
  return tree
}

const programs = join(fetched(process.argv[2] ?? fileURLToPath(new URL('../.cache', import.meta.url))), 'usr/bin')
// A package for another libc or processor does not start.
const { status, stderr, error } = spawnSync(join(programs, 'etcd'), ['--version'], { encoding: 'utf8' })
if (status !== 0) fail(`etcd of Debian 13 does not run here: ${inOneLine(error?.message ?? stderr)}`)
process.stdout.write(`${programs}\n`)
