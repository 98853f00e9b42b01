const OLDEST = [3, 5] as const

/**
 * Reads the version from the output of `etcd --version`, such as "etcd Version: 3.5.16"; undefined for anything else.
 */
export function etcdVersion(said: string): string | undefined {
  return /^etcd Version: (\d+\.\d+\.\d+\S*)/m.exec(said)?.[1]
}

/**
 * Returns why this etcd cannot run a cluster, and what to do; undefined when it can. `said`: the output of
 * `etcd --version`.
 */
export function versionProblem(said: string): string | undefined {
  const version = etcdVersion(said)
  const install = `install the package etcd-server of Debian 13 (trixie) or later, at least ${OLDEST.join('.')}`
  if (version === undefined) return `its version is unknown: ${install}`
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  return isOld ? `etcd ${version} is too old: ${install}` : undefined
}
