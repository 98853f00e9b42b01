import { type Line, secondsOf } from './lines.ts'
import { refuse, type Reading } from './reading.ts'
import { plainText, wholeNumber, wholeSeconds } from './taken.ts'

export interface Server {
  readonly name: string
  readonly ip: string
  readonly port: number | null
  readonly isHalted: boolean
  readonly isChecked: boolean
  readonly member: Readonly<Record<string, unknown>>
}

/** What the lines of one backend have come to so far. */
export class BackendDraft {
  readonly fields: Record<string, unknown> = {}
  readonly timeouts: Record<string, number> = {}
  readonly check: Record<string, unknown> = {}
  readonly servers: Server[] = []
  readonly rules: Readonly<Record<string, unknown>>[] = []
  /** Words of default-server, which stand before those of each server. */
  defaults: readonly string[] = []
  mode = 'tcp'
  stickFor: number | undefined
}

type Take = (draft: BackendDraft, words: readonly string[], line: Line, reading: Reading) => void

const BALANCES: ReadonlySet<string> = new Set(['roundrobin', 'leastconn', 'source', 'uri', 'random', 'first'])
const REUSES: ReadonlySet<string> = new Set(['never', 'safe', 'aggressive', 'always'])

/** Keywords of backends, each with what it becomes; what throws is not understood. */
export const BACKEND: Readonly<Record<string, Take>> = {
  mode: (draft, [mode = '']) => {
    draft.mode = mode === 'http' || mode === 'tcp' ? mode : refuse(`there is no mode ${mode}`)
  },
  balance: (draft, [name = '', ...more]) => {
    if (more.length > 0) refuse('options of balance have no counterpart')
    draft.fields['balance'] = BALANCES.has(name) ? name : refuse(`balance ${name} has no counterpart`)
  },
  timeout: (draft, [which = '', time], line, reading) => {
    const seconds = () => wholeSeconds(line, time, reading)
    if (which === 'connect') draft.fields['timeoutConnect'] = seconds()
    else if (which === 'server') draft.fields['timeoutServer'] = seconds()
    else draft.timeouts[TIMEOUTS[which] ?? refuse(`timeout ${which} has no counterpart`)] = seconds()
  },
  option: (draft, words, line, reading) => option(draft, words, line, reading),
  'http-check': (draft, words) => httpCheck(draft, words),
  'http-response': (draft, words) => response(draft, words),
  cookie: (draft, [name = '', ...options], line, reading) => {
    if (!options.includes('insert')) refuse('only a cookie that is inserted has a counterpart')
    draft.fields['persistence'] = { type: 'cookie', cookieName: name }
    reading.remark(line, 'servers get cookie values of their own: clients are balanced anew, once')
  },
  'stick-table': (draft, words) => {
    if (words[0] !== 'type' || !/^(ip|ipv6)$/.test(words[1] ?? '')) refuse('only addresses are tracked')
    const at = words.indexOf('expire')
    draft.stickFor = Math.max(1, Math.ceil((at < 0 ? undefined : secondsOf(words[at + 1])) ?? 1800))
  },
  stick: (draft, words) => {
    if (words.join(' ') !== 'on src') refuse('only stick on src has a counterpart')
    draft.fields['persistence'] = { type: 'ip', timeout: draft.stickFor ?? 1800 }
  },
  'http-reuse': (draft, [how = '']) => {
    draft.fields['httpReuse'] = REUSES.has(how) ? how : refuse(`http-reuse ${how} has no counterpart`)
  },
  'default-server': (draft, words, line, reading) => {
    serverOf(draft, ['default', '192.0.2.1:1', ...words], line, reading)
    draft.defaults = [...draft.defaults, ...words]
  },
  server: (draft, words, line, reading) => {
    const [name = '', address = '', ...options] = words
    const server = serverOf(draft, [name, address, ...draft.defaults, ...options], line, reading)
    const [first = server] = draft.servers
    if (first.isChecked !== server.isChecked) reading.remark(line, 'Fulcrum checks all servers of a backend, or none')
    draft.servers.push(server)
  },
}

const TIMEOUTS: Readonly<Record<string, string>> = {
  queue: 'queue',
  tunnel: 'tunnel',
  'server-fin': 'serverFin',
  check: 'check',
}

function option(draft: BackendDraft, [name = '', ...more]: readonly string[], line: Line, reading: Reading): void {
  if (name === 'forwardfor') reading.remark(line, 'it is a field of frontends (forwardFor)')
  else if (name === 'tcp-check') draft.check['type'] = 'tcp'
  else if (name !== 'httpchk') refuse(`option ${name} has no counterpart`)
  else {
    const [method = 'OPTIONS', path = '/', version = ''] = more.length === 1 ? ['OPTIONS', more[0]] : more
    draft.check['type'] = 'http'
    draft.check['path'] = path
    const host = /\bHost:\s*(\S+)/i.exec([version, ...more.slice(3)].join(' '))?.[1]
    if (host !== undefined) draft.check['host'] = host
    if (method !== 'GET') reading.remark(line, 'Fulcrum checks with GET')
  }
}

const HEADERS: Readonly<Record<string, string>> = {
  'set-header': 'setHeader',
  'add-header': 'addHeader',
  'del-header': 'removeHeader',
}

function response({ rules }: BackendDraft, [verb = '', name = '', value, ...more]: readonly string[]): void {
  const type = HEADERS[verb] ?? refuse(`http-response ${verb} has no counterpart`)
  if (more.length > 0 || /^(if|unless)$/.test(value ?? '')) refuse('a condition on responses has no counterpart here')
  rules.push({ do: { type, name, ...(type === 'removeHeader' ? {} : { value: plainText(value ?? '') }) } })
}

function httpCheck(draft: BackendDraft, [verb = '', ...words]: readonly string[]): void {
  if (verb === 'expect' && words[0] === 'status' && words.length === 2) draft.check['expect'] = words[1]
  else if (
    verb === 'expect' &&
    words[0] === 'rstatus' &&
    /^\^?\[?[1-5-]+\]?(\[0-9\]|\\d|\.)*\$?$/.test(words[1] ?? '')
  ) {
    const digits = /[1-5](?:-[1-5])?|[1-5]+/.exec(words[1] ?? '')?.[0] ?? refuse('it is not understood')
    const [from, to = from] = digits.includes('-') ? digits.split('-') : [digits.at(0), digits.at(-1)]
    draft.check['expect'] = `${from}00-${to}99`
  } else if (verb === 'send') {
    for (let at = 0; at < words.length; at += 2) {
      const [word = '', value = ''] = [words[at], words[at + 1]]
      if (word === 'uri') draft.check['path'] = value
      else if (word === 'hdr' && value.toLowerCase() === 'host') {
        at += 1
        draft.check['host'] = words[at + 1]
      } else if (!(word === 'meth' && value === 'GET') && !(word === 'ver'))
        refuse(`http-check send ${word} has no counterpart`)
    }
  } else refuse(`http-check ${verb} ${words[0] ?? ''} has no counterpart`)
}

/** Words of a server that need nothing, or that Fulcrum decides, with how many words follow. */
const SERVER_PLAIN: Readonly<Record<string, number>> = {
  cookie: 1,
  id: 1,
  resolvers: 1,
  'init-addr': 1,
  'resolve-prefer': 1,
  'on-marked-down': 1,
  'ca-file': 1,
  alpn: 1,
  observe: 1,
  slowstart: 1,
  minconn: 1,
  maxqueue: 1,
}

function serverOf(draft: BackendDraft, words: readonly string[], line: Line, reading: Reading): Server {
  const [name = '', address = '', ...options] = words
  const member: Record<string, unknown> = {}
  let [isHalted, isChecked] = [false, false]
  for (let at = 0; at < options.length; at++) {
    const word = options[at] ?? ''
    const value = () => options[(at += 1)]
    if (word === 'check') isChecked = true
    else if (word === 'weight') member['weight'] = wholeNumber(value())
    else if (word === 'maxconn') member['maxConn'] = wholeNumber(value())
    else if (word === 'backup') member['backup'] = true
    else if (word === 'ssl') member['encrypted'] = true
    else if (word === 'verify') member['verify'] = value() === 'required'
    else if (word === 'sni')
      member['sni'] =
        /^str\(([A-Za-z0-9.-]+)\)$/.exec(value() ?? '')?.[1] ?? refuse('only sni str(NAME) has a counterpart')
    else if (word === 'send-proxy-v2') member['sendProxy'] = true
    else if (word === 'disabled') isHalted = true
    else if (word === 'inter' || word === 'fastinter' || word === 'downinter') {
      const time = wholeSeconds(line, value(), reading)
      if (word === 'inter') draft.check['interval'] = time
      else reading.remark(line, `${word} has no counterpart`)
    } else if (word === 'rise' || word === 'fall') draft.check[word] = wholeNumber(value())
    else if (word in SERVER_PLAIN) {
      const said = value()
      if (word !== 'cookie') reading.remark(line, `${word} ${said ?? ''} has no counterpart`)
    } else refuse(`${word} has no counterpart`)
  }
  if (member['verify'] === false || member['encrypted'] !== true) delete member['verify']
  if (member['verify'] === true && member['sni'] === undefined) {
    delete member['verify']
    reading.remark(line, 'a certificate is verified for a name: say sni str(NAME)')
  }
  return { name, ...addressOf(address), isHalted, isChecked, member }
}

function addressOf(text: string): { readonly ip: string; readonly port: number | null } {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^:/@$]+))(?::(\d+))?$/.exec(text.replace(/^(ipv4|ipv6)@/, '')) ?? []
  const ip = bracketed ?? plain ?? refuse(`${text} is no address of a server`)
  return { ip, port: port === undefined || port === '0' ? null : wholeNumber(port) }
}

/** The backend that it becomes, without its servers. */
export function backendOf({ mode, fields, timeouts, check, servers, rules }: BackendDraft): Record<string, unknown> {
  const { interval, rise, fall, ...asked } = check
  const pace = Object.fromEntries(Object.entries({ interval, rise, fall }).filter(([, value]) => value !== undefined))
  const healthCheck = servers.some(({ isChecked }) => isChecked) ? { type: 'tcp', ...asked, ...pace } : { type: 'none' }
  return {
    mode,
    ...fields,
    healthCheck,
    ...(rules.length === 0 ? {} : { rules }),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
  }
}
