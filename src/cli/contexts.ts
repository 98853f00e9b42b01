import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Failure } from './failure.ts'
import { writePrivately } from './private-file.ts'

/** The address of a daemon, and the account to use there. */
export interface Context {
  readonly url: string
  /** API token; undefined at the daemon's own socket, which needs none. */
  readonly token?: string | undefined
  readonly user: string
  /** SHA-256 of the certificate that was accepted at the login; undefined: one that the system's authorities know. */
  readonly fingerprint?: string | undefined
  /** When the token ends, by the clock of the machine that logged in; undefined if an earlier version stored it. */
  readonly until?: string | undefined
}

interface Kept {
  readonly current: string
  readonly contexts: Readonly<Record<string, Context>>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Where a daemon on this machine has its own socket: as an appliance, and as a trial of a clone. */
export const LOCAL_SOCKETS: readonly string[] = ['/run/fulcrum/api.sock', '.fulcrum/api.sock']

/** What stands for the daemon on this machine where nobody has called a context so. */
const LOCAL = 'local'

/** After a logout nobody is to find himself at another daemon. */
export const NONE_CURRENT = 'no context is selected: choose one with fulcrum contexts NAME'

/** Contexts by name, in a file that nobody else can read; and the daemon on this machine. */
export class Contexts {
  readonly #env: Environment
  readonly #sockets: readonly string[]

  constructor(env: Environment, sockets: readonly string[] = []) {
    this.#sockets = sockets
    this.#env = env
  }

  get path(): string {
    const folder = this.#set('XDG_CONFIG_HOME') ?? join(this.#set('HOME') ?? homeOfAccount(), '.config')
    return join(folder, 'fulcrum', 'contexts.json')
  }

  all(): Kept {
    let text: string
    try {
      text = readFileSync(this.path, 'utf8')
    } catch (error) {
      if (Reflect.get(Object(error), 'code') === 'ENOENT') return { current: '', contexts: {} }
      throw new Failure(`${this.path} cannot be read: is it a folder, or not yours?`)
    }
    const { current = '', contexts } = parsed(text)
    if (typeof current === 'string' && areContexts(contexts)) return { current, contexts }
    throw new Failure(`${this.path} is damaged: remove it, and log in again`)
  }

  /** A pipeline sets what it has no value for to nothing. */
  #set(name: string): string | undefined {
    return this.#env[name] === '' ? undefined : this.#env[name]
  }

  /** What the chosen one is called; undefined for that of the environment, which is not kept. */
  nameOf(name: string | undefined): string | undefined {
    if (name === undefined && this.#set('FULCRUM_URL') !== undefined) return undefined
    return name ?? this.#set('FULCRUM_CONTEXT') ?? this.all().current
  }

  /** The context with this name, that of the environment, or the current one. */
  chosen(name: string | undefined): Context {
    const wanted = this.nameOf(name)
    if (wanted === undefined) return this.#ofEnvironment()
    const { contexts } = this.all()
    const found = Object.hasOwn(contexts, wanted) ? contexts[wanted] : undefined
    if (found !== undefined) return found
    if (wanted === '' && Object.keys(contexts).length > 0) throw new Failure(`${NONE_CURRENT}, or use --context`)
    const socket = wanted === '' || wanted === LOCAL ? this.#sockets.find(isOwnSocket) : undefined
    if (socket !== undefined) return { url: `${SOCKET_SCHEME}${resolve(socket)}`, user: '' }
    if (wanted === LOCAL) throw new Failure('no daemon is running here under your account')
    if (wanted !== '') throw new Failure(`there is no context ${wanted}: fulcrum contexts lists them`)
    throw new Failure('not logged in; run fulcrum login https://HOST:9443')
  }

  #ofEnvironment(): Context {
    const [url = '', token, fingerprint] = ['FULCRUM_URL', 'FULCRUM_TOKEN', 'FULCRUM_FINGERPRINT'].map((one) =>
      this.#set(one),
    )
    if (isSocket(url)) return { url, token, user: '' }
    if (token === undefined) throw new Failure('FULCRUM_URL is set, but FULCRUM_TOKEN is not')
    return { url: addressOf(url), token: token.trim(), user: '', fingerprint }
  }

  /** Keeps it, and makes it the current one. */
  keep(name: string, context: Context): void {
    this.#write({ current: name, contexts: { ...this.all().contexts, [name]: context } })
  }

  use(name: string): void {
    const { contexts } = this.all()
    if (!Object.hasOwn(contexts, name)) throw new Failure(`there is no context ${name}: fulcrum contexts lists them`)
    this.#write({ current: name, contexts })
  }

  /** Answers whether none of those that are left is current then. */
  remove(name: string): boolean {
    const { current, contexts } = this.all()
    const left = Object.fromEntries(Object.entries(contexts).filter(([one]) => one !== name))
    this.#write({ current: current === name ? '' : current, contexts: left })
    return !Object.hasOwn(left, current) && Object.keys(left).length > 0
  }

  #write(kept: Kept): void {
    const folder = dirname(this.path)
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    } catch (error) {
      throw new Failure(`${folder} cannot be created: ${error instanceof Error ? error.message : ''}`)
    }
    writePrivately(this.path, `${JSON.stringify(kept, null, 2)}\n`)
  }
}

/** Where the environment names none, as in some units of systemd. */
function homeOfAccount(): string {
  try {
    return userInfo().homedir
  } catch {
    throw new Failure('this account has no home directory for contexts: set HOME, or FULCRUM_URL and FULCRUM_TOKEN')
  }
}

/** What others may have written, or half of it. */
function areContexts(given: unknown): given is Kept['contexts'] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  const isText = (value: unknown) => typeof value === 'string'
  return Object.values(given).every((one: unknown) => {
    const { url, user, token = '', fingerprint = '', until = '' } = Object(one) as Record<string, unknown>
    return [url, user, token, fingerprint, until].every(isText) && (isSocket(String(url)) || URL.canParse(String(url)))
  })
}

function parsed(text: string): Partial<Record<keyof Kept, unknown>> {
  try {
    const kept: unknown = JSON.parse(text)
    return typeof kept === 'object' && kept !== null ? kept : {}
  } catch {
    return {}
  }
}

const SOCKET_SCHEME = 'unix:'
const isSocket = (url: string) => url.startsWith(SOCKET_SCHEME)

/** The path in the address of a socket; undefined for any other address. */
export const socketPathOf = (url: string): string | undefined =>
  isSocket(url) ? url.slice(SOCKET_SCHEME.length) : undefined

/** What anybody could have put there is not asked, and what belongs to somebody else cannot be. */
function isOwnSocket(path: string): boolean {
  try {
    const found = statSync(path)
    return found.isSocket() && found.uid === process.geteuid?.()
  } catch {
    return false
  }
}

/** Address of a daemon: encrypted, unless it stays on this machine. */
export function addressOf(given: string): string {
  const text = given.includes('://') ? given : `https://${given}`
  if (!URL.canParse(text)) throw new Failure(`${given} is not a URL: use https://HOST:9443`)
  const { protocol, hostname: host, username, password, pathname, search, hash, origin } = new URL(text)
  // Nor is a password repeated where others may read it.
  if (username !== '' || password !== '') throw new Failure('the URL must not contain a user or password: use --user')
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback))
    throw new Failure(`${given} is not encrypted: use https://HOST:9443`)
  if (/[^/]/.test(pathname) || search !== '' || hash !== '') throw new Failure(`${given} has a path: use ${origin}`)
  return origin
}
