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
  /** SHA-256 of the certificate that was accepted at the login; undefined if the system's authorities vouch for it. */
  readonly fingerprint?: string | undefined
  /** When the token expires, by the clock of the machine that logged in; undefined if an earlier version stored it. */
  readonly until?: string | undefined
}

interface Kept {
  readonly current: string
  readonly contexts: Readonly<Record<string, Context>>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Sockets of a daemon on this machine: of an appliance, and of a trial from a clone. */
export const LOCAL_SOCKETS: readonly string[] = ['/run/fulcrum/api.sock', '.fulcrum/api.sock']

/** Name of the daemon on this machine, unless a context has this name. */
const LOCAL = 'local'

/** No other context becomes current after a logout, so that the user does not act on another daemon by mistake. */
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

  /** A pipeline sets variables without a value to the empty text. */
  #set(name: string): string | undefined {
    return this.#env[name] === '' ? undefined : this.#env[name]
  }

  /** Returns the name of the chosen context; undefined for one from the environment, which is not stored. */
  nameOf(name: string | undefined): string | undefined {
    if (name === undefined && this.#set('FULCRUM_URL') !== undefined) return undefined
    return name ?? this.#set('FULCRUM_CONTEXT') ?? this.all().current
  }

  /** Returns the context with this name, the one from the environment, or the current one. */
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

  /** Stores the context and makes it the current one. */
  keep(name: string, context: Context): void {
    this.#write({ current: name, contexts: { ...this.all().contexts, [name]: context } })
  }

  use(name: string): void {
    const { contexts } = this.all()
    if (!Object.hasOwn(contexts, name)) throw new Failure(`there is no context ${name}: fulcrum contexts lists them`)
    this.#write({ current: name, contexts })
  }

  /** Returns whether contexts are left and none of them is current. */
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

/** For an environment without HOME, as in some units of systemd. */
function homeOfAccount(): string {
  try {
    return userInfo().homedir
  } catch {
    throw new Failure('this account has no home directory for contexts: set HOME, or FULCRUM_URL and FULCRUM_TOKEN')
  }
}

/** Checks the file's contents, which somebody else may have written, or only in part. */
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

/** Returns the path in the address of a socket; undefined for any other address. */
export const socketPathOf = (url: string): string | undefined =>
  isSocket(url) ? url.slice(SOCKET_SCHEME.length) : undefined

/**
 * Returns whether the socket belongs to this account: one that anybody could have created is not trusted, and another
 * account's cannot be opened.
 */
function isOwnSocket(path: string): boolean {
  try {
    const found = statSync(path)
    return found.isSocket() && found.uid === process.geteuid?.()
  } catch {
    return false
  }
}

/** Parses the address of a daemon, which must be encrypted unless it is on this machine. */
export function addressOf(given: string): string {
  const text = given.includes('://') ? given : `https://${given}`
  if (!URL.canParse(text)) throw new Failure(`${given} is not a URL: use https://HOST:9443`)
  const { protocol, hostname: host, username, password, pathname, search, hash, origin } = new URL(text)
  // The password is not repeated in the message, which others may read.
  if (username !== '' || password !== '') throw new Failure('the URL must not contain a user or password: use --user')
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback))
    throw new Failure(`${given} is not encrypted: use https://HOST:9443`)
  if (/[^/]/.test(pathname) || search !== '' || hash !== '') throw new Failure(`${given} has a path: use ${origin}`)
  return origin
}
