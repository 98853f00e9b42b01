/** The input for a service, as the user types it. */
export interface Wanted {
  readonly name: string
  readonly address: string
  readonly servers: string
  readonly certificate: string
  readonly checkPath: string
  readonly sticks: boolean
}

/** Parses `192.0.2.10:80`, `[2001:db8::1]:443` or `web.example.org` into host and port. */
export function placeIn(text: string, usual: number): { readonly ip: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:\s]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  return { ip: bracketed ?? plain ?? text.trim(), port: port === undefined ? usual : Number(port) }
}

export interface KnownServer {
  readonly name: string
  readonly ip: string
  readonly port: number | null
}

/** Tells where a field of the document was typed, and in the list of servers what. */
export function typedAs(
  field: string,
  { realServers = {} }: { readonly realServers?: Readonly<Record<string, { readonly ip?: string }>> },
): { readonly input: string; readonly what?: string | undefined } | undefined {
  const [, section, name = '', last] = /^document\.(\w+)\.(.+)\.(\w+)$/.exec(field) ?? []
  if (section === 'realServers') return { input: 'Servers, one per line', what: realServers[name]?.ip }
  if (last === 'ip' || last === 'ports') return { input: 'Address for clients' }
  return last === 'path' ? { input: 'Path of the health check (empty: only connect)' } : undefined
}

/**
 * Returns the service as a document, in which records are referred to by name. An existing server is reused as it is.
 */
export function documentOf({ address, servers, certificate, sticks, ...typed }: Wanted, known: readonly KnownServer[]) {
  const [name, checkPath] = [typed.name.trim(), typed.checkPath.trim()]
  const realServers: Record<string, object> = {}
  const reals = servers
    .split(/[\s,]+/)
    .filter((one) => one !== '')
    .map((one, at) => {
      const { ip, port } = placeIn(one, 80)
      const same = known.find((server) => server.ip === ip && server.port === port)
      if (same !== undefined) return { ripId: same.name }
      realServers[`${name}-${at + 1}`] = { ip, port }
      return { ripId: `${name}-${at + 1}` }
    })
  const { ip, port } = placeIn(address, certificate === '' ? 80 : 443)
  const backend = {
    mode: 'http',
    reals,
    healthCheck: checkPath === '' ? { type: 'tcp' } : { type: 'http', path: checkPath },
    ...(sticks ? { persistence: { type: 'cookie' } } : {}),
  }
  const frontend = {
    mode: 'http',
    ip,
    ports: String(port),
    defaultBackendId: name,
    logs: { enabled: true },
    ...(certificate === '' ? {} : { certificates: [certificate] }),
  }
  return {
    version: 1,
    ...(Object.keys(realServers).length === 0 ? {} : { realServers }),
    l7Backends: { [name]: backend },
    l7Frontends: { [name]: frontend },
  }
}
