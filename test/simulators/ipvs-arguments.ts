import { isIP } from 'node:net'
import { AF_INET, AF_INET6, PROTOCOL } from '../../src/ipvs/protocol.ts'

/** A command of `ipvsadm`, after its own check of the arguments. */
export interface IpvsCommand {
  readonly verb: 'A' | 'E' | 'D' | 'a' | 'e' | 'd' | 'C' | 'Z'
  readonly family: number
  readonly protocol: number | undefined
  readonly address: string | undefined
  readonly port: number | undefined
  readonly mark: number | undefined
  readonly scheduler: string
  /** Seconds; undefined: not persistent. */
  readonly timeout: number | undefined
  readonly netmask: string | undefined
  readonly server: { readonly address: string; readonly port: number; readonly family: number } | undefined
  readonly forwarding: 'masq' | 'gate' | 'ipip'
  readonly weight: number
}

/** A refusal by `ipvsadm` itself: one line, exit code 2. */
export class Refused extends Error {}

const VERBS: Readonly<Record<string, IpvsCommand['verb']>> = {
  '-A': 'A',
  '-E': 'E',
  '-D': 'D',
  '-a': 'a',
  '-e': 'e',
  '-d': 'd',
  '-C': 'C',
  '-Z': 'Z',
}
const NAMES = {
  A: 'add-service',
  E: 'edit-service',
  D: 'delete-service',
  a: 'add-server',
  e: 'edit-server',
  d: 'delete-server',
  C: 'clear',
  Z: 'zero',
} as const
/** Options of each command besides the service. */
const ALLOWED = {
  A: '-s -p -M -6',
  E: '-s -p -M -6',
  D: '-6',
  a: '-r -g -i -m -w -6',
  e: '-r -g -i -m -w -6',
  d: '-r -6',
  C: '',
  Z: '-6',
} as const
const LONG: Readonly<Record<string, string>> = {
  '-s': 'scheduler',
  '-p': 'persistent',
  '-M': 'netmask',
  '-r': 'real-server',
  '-w': 'weight',
  '-6': 'ipv6',
}
const OPTIONS_WITH_VALUE = new Set(['-t', '-u', '-f', '-s', '-M', '-r', '-w'])
const FORWARDINGS: Readonly<Record<string, IpvsCommand['forwarding']>> = { '-g': 'gate', '-i': 'ipip', '-m': 'masq' }
const DEFAULT_TIMEOUT_S = 360

function number(text: string | undefined, low: number, high: number): number | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return undefined
  const value = Number(text)
  return value >= low && value <= high ? value : undefined
}

function endpoint(text: string | undefined, what: string) {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text ?? '')
  const address = match?.[1] ?? match?.[2] ?? ''
  const port = number(match?.[3] ?? '0', 0, 65_535)
  if (isIP(address) === 0 || port === undefined) throw new Refused(`illegal ${what} address[:port] specified`)
  return { address, port, family: isIP(address) === 4 ? AF_INET : AF_INET6, hasPort: match?.[3] !== undefined }
}

/** The options by their letters; an option without a value has an empty one. */
function optionsOf(argv: readonly string[]) {
  let verb: IpvsCommand['verb'] | undefined
  const options = new Map<string, string>()
  for (let at = 0; at < argv.length; at++) {
    const letter = argv[at] ?? ''
    const found = VERBS[letter]
    if (found !== undefined) {
      if (verb !== undefined) throw new Refused('multiple commands specified')
      verb = found
      continue
    }
    const next = argv[at + 1]
    const takesNext = OPTIONS_WITH_VALUE.has(letter) || (letter === '-p' && next !== undefined && !next.startsWith('-'))
    if (options.has(letter)) throw new Refused(`multiple '${LONG[letter] ?? letter}' options specified`)
    options.set(letter, takesNext ? (next ?? '') : '')
    if (takesNext) at++
  }
  if (verb === undefined) throw new Refused('no command is specified')
  return { verb, options }
}

function serviceOf(options: ReadonlyMap<string, string>) {
  const tcp = options.get('-t')
  const given = tcp ?? options.get('-u')
  if (given !== undefined) {
    const { address, port, family } = endpoint(given, 'virtual server')
    return { family, address, port, mark: undefined, protocol: tcp === undefined ? PROTOCOL.udp : PROTOCOL.tcp }
  }
  const text = options.get('-f')
  if (text === undefined) return undefined
  const mark = number(text, 1, 0xff_ff_ff_ff)
  if (mark === undefined) throw new Refused(`invalid fwmark value \`${text}' specified`)
  const family = options.has('-6') ? AF_INET6 : AF_INET
  return { family, address: undefined, port: undefined, mark, protocol: undefined }
}

function checkOptions(verb: IpvsCommand['verb'], options: ReadonlyMap<string, string>): void {
  const allowed: readonly string[] = ALLOWED[verb].split(' ')
  for (const option of options.keys()) {
    if (allowed.includes(option)) continue
    const isService = ['-t', '-u', '-f'].includes(option)
    if (isService && verb !== 'C') continue
    throw new Refused(`Illegal '${LONG[option] ?? option}' option with the '${NAMES[verb]}' command`)
  }
  if ('aed'.includes(verb) && !options.has('-r'))
    throw new Refused(`You need to supply the 'real-server' option for the '${NAMES[verb]}' command`)
}

function persistence(options: ReadonlyMap<string, string>): number | undefined {
  const given = options.get('-p')
  if (given === undefined) return undefined
  const timeout = given === '' ? DEFAULT_TIMEOUT_S : number(given, 1, 31 * 86_400)
  if (timeout === undefined) throw new Refused(`invalid timeout value \`${given}' specified`)
  return timeout
}

/** Checks an argument list as `ipvsadm` does before it calls the kernel. */
export function parseIpvsadm(argv: readonly string[]): IpvsCommand {
  const { verb, options } = optionsOf(argv)
  checkOptions(verb, options)
  const service = serviceOf(options)
  if (service === undefined && verb !== 'C' && verb !== 'Z')
    throw new Refused(`You need to supply the 'service-address' option for the '${NAMES[verb]}' command`)
  const timeout = persistence(options)
  if (verb === 'A' && service?.port === 0 && timeout === undefined)
    throw new Refused('Zero port specified for non-persistent service')
  const weight = number(options.get('-w') ?? '1', 0, 0x7f_ff_ff_ff)
  if (weight === undefined) throw new Refused('illegal weight specified')
  const forwarding = Object.entries(FORWARDINGS).find(([option]) => options.has(option))?.[1] ?? 'gate'
  return {
    verb,
    family: service?.family ?? 0,
    protocol: service?.protocol,
    address: service?.address,
    port: service?.port,
    mark: service?.mark,
    scheduler: options.get('-s') ?? 'wlc',
    timeout,
    netmask: options.get('-M'),
    server: serverOf(options, service, forwarding),
    forwarding,
    weight,
  }
}

/** Without translation a server answers on the port of the service, whatever was given; a mark has none. */
function serverOf(
  options: ReadonlyMap<string, string>,
  service: ReturnType<typeof serviceOf>,
  forwarding: IpvsCommand['forwarding'],
): IpvsCommand['server'] {
  const text = options.get('-r')
  if (text === undefined) return undefined
  const { address, port, family, hasPort } = endpoint(text, 'real server')
  const servicePort = service?.port ?? 0
  const usesService = service?.mark === undefined && (forwarding !== 'masq' || !hasPort)
  return { address, family, port: usesService ? servicePort : port }
}
