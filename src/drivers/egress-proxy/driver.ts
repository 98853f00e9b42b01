import { isHost } from '../../base/host-name.ts'
import { MASK } from '../../base/mask.ts'
import type { SystemProxy } from '../../model/node.ts'
import { bypassKind, bypassProblem } from '../../rules/proxy-bypass.ts'
import type { Driver, Step } from '../driver.ts'
import type { Problem } from '../../model/problem.ts'
import { nodeIn } from '../this-node.ts'
import { proxyInUse, renderApt, renderBypass, renderEnvironment } from './render.ts'

export interface EgressProxyPaths {
  readonly apt: string
  /**
   * Outside apt's folder of fragments, where apt would read any file as one. apt runs the script under its own account.
   */
  readonly bypassScript: string
  /** For programs that the daemon starts: EnvironmentFile= of systemd. */
  readonly environment: string
}

export function egressProxyPaths(stateFolder: string): EgressProxyPaths {
  return {
    apt: '/etc/apt/apt.conf.d/95fulcrum-proxy',
    bypassScript: '/etc/apt/fulcrum-proxy-bypass',
    environment: `${stateFolder}/machine/proxy.env`,
  }
}

const TIMEOUT_MS = 10_000
const SECRET_MODE = 0o600
const OPEN_MODE = 0o644
const PROGRAM_MODE = 0o755

interface RenderedFile {
  readonly path: string
  readonly content: string
  readonly mode: number
}

/** The proxy for downloads of the appliance itself: packages, and all other requests of the daemon's jobs. */
export function egressProxyDriver(nodeId: string, paths: EgressProxyPaths): Driver {
  const files = (settings: SystemProxy | undefined) => renderFiles(settings, paths)
  return {
    name: 'proxy',
    sections: ['systemProxies'],
    prepare: () => [],
    verify: (desired) => verify(desired.get('systemProxies', nodeIn(desired, nodeId))),
    plan(running, desired) {
      const after = desired.get('systemProxies', nodeIn(desired, nodeId))
      if (running === undefined) return after === undefined ? [] : steps([], files(after), paths)
      const [old, wanted] = [files(running.get('systemProxies', nodeIn(running, nodeId))), files(after)]
      return JSON.stringify(old) === JSON.stringify(wanted) ? [] : steps(old, wanted, paths)
    },
    effectOf: ({ section, id }, _, desired) =>
      section === 'systemProxies' && id === nodeIn(desired, nodeId) ? 'runtime' : undefined,
    render(desired) {
      const settings = desired.get('systemProxies', nodeIn(desired, nodeId))
      if (settings === undefined) return []
      const password = settings.password === '' ? '' : MASK
      return files({ ...settings, password }).map(({ path, content }) => ({ path, content: unmasked(content) }))
    },
    diagnose: () => [],
  }
}

/** Shows people the mask as it reads everywhere else. */
const unmasked = (content: string) => content.replaceAll('%2A%2A@', `${MASK}@`)

function verify(settings: SystemProxy | undefined): readonly Problem[] {
  if (settings === undefined) return []
  const about = (field: string, message: string): Problem => ({
    section: 'systemProxies',
    id: settings.id,
    field,
    message,
  })
  const { enable, address, bypass } = settings
  const problems = bypass.flatMap((entry, index) =>
    bypassKind(entry) === undefined ? [about(`bypass.${index}`, `${entry} ${bypassProblem(entry)}`)] : [],
  )
  if (address !== null && !isHost(address.value))
    problems.push(about('address.value', `${address.value} is not a host`))
  if (enable && address === null) problems.push(about('address', 'an enabled proxy needs an address'))
  return problems
}

function renderFiles(settings: SystemProxy | undefined, paths: EgressProxyPaths): readonly RenderedFile[] {
  const proxy = proxyInUse(settings)
  if (proxy === undefined) return []
  const script = { path: paths.bypassScript, content: renderBypass(proxy), mode: PROGRAM_MODE }
  return [
    { path: paths.environment, content: renderEnvironment(proxy), mode: SECRET_MODE },
    // Written before the fragment that names it.
    ...(proxy.bypass.length === 0 ? [] : [script]),
    {
      path: paths.apt,
      content: renderApt(proxy, paths.bypassScript),
      mode: proxy.password === '' ? OPEN_MODE : SECRET_MODE,
    },
  ]
}

function steps(old: readonly RenderedFile[], files: readonly RenderedFile[], paths: EgressProxyPaths): readonly Step[] {
  // A file that loses its password is removed before it is written with a mode that lets all users read it.
  const secrets = old
    .filter(({ path, mode }) => mode === SECRET_MODE && files.some((file) => file.path === path && file.mode !== mode))
    .map(({ path }) => removal(path, 'remove the password of the proxy'))
  const written = files.map(({ path, content, mode }): Step => ({
    kind: 'replaceFile',
    why: 'use the proxy for downloads',
    timeout_ms: TIMEOUT_MS,
    path,
    content,
    mode,
    checked: false,
  }))
  const why = files.length > 0 ? 'remove the list of proxy exceptions' : 'stop using a proxy for downloads'
  const unwanted = [paths.apt, paths.bypassScript, paths.environment]
    .filter((path) => !files.some((file) => file.path === path))
    .map((path) => removal(path, why))
  return [...secrets, ...written, ...unwanted]
}

const removal = (path: string, why: string): Step => ({ kind: 'removeFile', why, timeout_ms: TIMEOUT_MS, path })
