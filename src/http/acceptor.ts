import { App, SSLApp, type TemplatedApp } from 'uWebSockets.js'

export interface Tls {
  readonly keyFile: string
  /** PEM, with the certificates between it and the root after it. */
  readonly certificateFile: string
}

/** What connections are passed to, in whichever thread it is. */
export type Descriptor = number

/** Missing in the package's types. */
interface Passing {
  getDescriptor(): Descriptor
  addChildAppDescriptor(descriptor: Descriptor): unknown
  removeChildAppDescriptor(descriptor: Descriptor): unknown
}
export type PassingApp = TemplatedApp & Passing

/** What speaks with clients. */
export interface Speakers {
  /** Makes applications that show this certificate, or speak plain HTTP without one. Rejects when they cannot. */
  open(tls: Tls | undefined): Promise<readonly Descriptor[]>
  /** Ends every connection at once. */
  close(): void
}

/** The listeners of this thread. */
export class OwnSpeakers implements Speakers {
  readonly #serve: (app: TemplatedApp) => void
  readonly #applications: PassingApp[] = []

  constructor(serve: (app: TemplatedApp) => void) {
    this.#serve = serve
  }

  async open(tls: Tls | undefined): Promise<readonly Descriptor[]> {
    const application = applicationFor(tls)
    this.#serve(application)
    this.#applications.push(application)
    return [application.getDescriptor()]
  }

  close(): void {
    for (const application of this.#applications) application.close()
  }
}

/**
 * Takes connections and passes each, in turns, to an application that shows the certificate of the moment. A port that
 * never closes loses nobody when the certificate changes, and connections that are open stay with the one they were
 * made with.
 */
export class Acceptor {
  /** Listens; it never speaks itself. */
  readonly application: PassingApp
  readonly #speakers: Speakers
  #current: readonly Descriptor[] = []

  private constructor(tls: Tls | undefined, speakers: Speakers) {
    this.#speakers = speakers
    this.application = applicationFor(tls)
  }

  /** Rejects when this is no certificate with its key. */
  static async open(tls: Tls | undefined, speakers: Speakers): Promise<Acceptor> {
    const acceptor = new Acceptor(tls, speakers)
    await acceptor.present(tls)
    return acceptor
  }

  /**
   * From the next connection on. Rejects when this is no certificate with its key, and changes nothing. The answer
   * takes it back.
   */
  async present(tls: Tls | undefined): Promise<() => void> {
    const fresh = await this.#speakers.open(tls)
    const before = this.#current
    this.#pass(fresh)
    return () => {
      if (before.length > 0) this.#pass(before)
    }
  }

  close(): void {
    this.application.close()
    this.#speakers.close()
  }

  #pass(to: readonly Descriptor[]): void {
    // Added first: without any, the acceptor would answer itself.
    for (const descriptor of to) this.application.addChildAppDescriptor(descriptor)
    for (const descriptor of this.#current) this.application.removeChildAppDescriptor(descriptor)
    this.#current = to
  }
}

/** The suites of TLS 1.2 with forward secrecy. TLS 1.3 has no others, and older versions are not offered. */
const SUITES = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((suite) => [
  `ECDHE-ECDSA-${suite}`,
  `ECDHE-RSA-${suite}`,
])

export function applicationFor(tls: Tls | undefined): PassingApp {
  if (tls === undefined) return App() as PassingApp
  const files = { key_file_name: tls.keyFile, cert_file_name: tls.certificateFile }
  return SSLApp({ ...files, ssl_ciphers: SUITES.join(':') }) as PassingApp
}
