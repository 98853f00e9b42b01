import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Received, Sent } from './appliance-fixture.ts'
import { temporaryFolder } from './config-fixture.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The flags of `npm start`, so that tests and benchmarks run what users run. */
const START = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).scripts.start.split(' ')
const FLAGS: readonly string[] = START.slice(START.indexOf('node') + 1, -1)
export const MAIN: readonly string[] = [...FLAGS, 'src/main.ts']

export const PASSWORD = 'correct horse battery'

/** What a launcher would have prepared. */
export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  /** Files and sockets that it may have open. */
  readonly descriptors?: number
  /** Told of each process; with it, descriptor 3 of the process is one end of a socket. */
  readonly started?: (child: ChildProcess) => void
}

/** A real daemon process with its own state folder; ended, with its HAProxy, when the test ends. */
export class Daemon {
  readonly state: string
  readonly #args: readonly string[]
  readonly #flags: readonly string[]
  readonly #more: Surroundings
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  #process: ChildProcess | undefined
  #token = ''
  #port = 0
  node = ''
  stderr = ''
  stdout = ''

  /** `flags` are those of Node. */
  constructor(state: string, args: readonly string[], flags: readonly string[] = [], more: Surroundings = {}) {
    this.#more = more
    this.state = state
    this.#args = args
    this.#flags = flags
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }
  get port(): number {
    return this.#port
  }

  /** Resolves when the API answers. */
  async start(): Promise<void> {
    const argv = [...this.#flags, ...MAIN, '--state', this.state, '--listen', '127.0.0.1:0']
    const { descriptors } = this.#more
    const limited = descriptors === undefined ? [] : ['prlimit', `--nofile=${descriptors}`]
    const [program = '', ...rest] = [...limited, process.execPath, ...argv, ...this.#args]
    const child = spawn(program, rest, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], FULCRUM_ADMIN_PASSWORD: PASSWORD, ...this.#more.env },
      stdio: ['ignore', 'pipe', 'pipe', ...(this.#more.started === undefined ? [] : (['pipe'] as const))],
    })
    this.#more.started?.(child)
    this.#process = child
    const { stdout, stderr } = child
    if (stdout === null || stderr === null) throw new Error('the daemon has no outputs')
    stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    const lines = createInterface({ input: stdout })
    const greeted = new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        this.stdout += `${line}\n`
        const port = /API\s+https:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
        if (port !== undefined) this.#port = Number(port)
        const node = /Node\s+(\S+)/.exec(line)?.[1]
        if (node === undefined) return
        this.node = node
        resolve()
      })
      child.once('exit', (code) => reject(new Error(`the daemon ended with ${code}: ${this.stderr}`)))
    })
    await greeted
  }

  async login(email = 'admin@localhost', password = PASSWORD): Promise<string> {
    const answer = await this.call('POST', '/token', { body: { email, password }, token: '' })
    if (answer.status !== 200) throw new Error(`login failed: ${answer.text}`)
    this.#token = String(answer.json.data.token)
    return this.#token
  }

  async kill(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code] = await exited
    return code
  }

  /** Ends the daemon and, when it was killed before, the HAProxy it left behind. */
  async end(): Promise<void> {
    await this.kill('SIGTERM')
    this.#agent.destroy()
    const pidFile = join(this.state, 'haproxy', 'haproxy.pid')
    if (!existsSync(pidFile)) return
    const pid = Number(readFileSync(pidFile, 'utf8'))
    const commandLine = `/proc/${pid}/cmdline`
    if (pid > 0 && existsSync(commandLine) && readFileSync(commandLine, 'utf8').includes(this.state))
      process.kill(pid, 'SIGTERM')
  }

  call(method: string, path: string, sent: Sent = {}): Promise<Received> {
    const raw = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body))
    const token = sent.token ?? this.#token
    const headers = {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(raw === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(raw) }),
      ...sent.headers,
    }
    const options = { host: '127.0.0.1', port: this.#port, method, path: `/api/v1${path}`, headers, agent: this.#agent }
    return new Promise((resolve, reject) => {
      const outgoing = request(options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () => {
          const isJson = answer.headers['content-type']?.startsWith('application/json') === true
          const received = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
          resolve({
            status: answer.statusCode ?? 0,
            headers: Object.fromEntries(received),
            text,
            json: isJson && text !== '' ? JSON.parse(text) : undefined,
          })
        })
      })
      outgoing.on('error', reject)
      outgoing.end(raw)
    })
  }

  /** Calls and insists on success. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  async data(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.call(method, path, body === undefined ? {} : { body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json.data
  }
}

export async function daemonFixture(test: Test, args: readonly string[] = ['--no-demo']): Promise<Daemon> {
  const daemon = new Daemon(temporaryFolder(test, 'daemon'), args)
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  return daemon
}

/** Asks until `done` says so; the deadline is generous because machines are shared. */
export async function until<T>(
  what: string,
  ask: () => Promise<T>,
  done: (value: T) => boolean,
  limit_ms = 20_000,
): Promise<T> {
  const deadline_ms = performance.now() + limit_ms
  for (;;) {
    const value = await ask()
    if (done(value)) return value
    if (performance.now() > deadline_ms) throw new Error(`waited in vain for ${what}; last: ${JSON.stringify(value)}`)
    await wait(100)
  }
}
