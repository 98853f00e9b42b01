import { App, SSLApp, type TemplatedApp } from 'uWebSockets.js'

export interface Tls {
  readonly keyFile: string
  /** PEM: the certificate, followed by the intermediate ones. */
  readonly certificateFile: string
}

/** An application that connections are passed to, in whichever thread it runs. */
export type Descriptor = number

/** Methods that are missing in the package's types. */
interface Passing {
  getDescriptor(): Descriptor
  addChildAppDescriptor(descriptor: Descriptor): unknown
  removeChildAppDescriptor(descriptor: Descriptor): unknown
}
export type PassingApp = TemplatedApp & Passing

/** The applications that talk to the clients of a listener. */
export interface Speakers {
  /** Opens applications that show this certificate, or speak plain HTTP without one. Rejects if they cannot. */
  open(tls: Tls | undefined): Promise<readonly Descriptor[]>
  /** Ends every connection at once. */
  close(): void
}

/** Applications in this thread. */
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
 * Accepts connections and passes them round robin to applications that show the current certificate. The port never
 * closes, so a change of the certificate refuses nobody, and open connections keep the certificate they were made with.
 */
export class Acceptor {
  /** Only listens; never talks to clients. */
  readonly application: PassingApp
  readonly #speakers: Speakers
  #current: readonly Descriptor[] = []

  private constructor(tls: Tls | undefined, speakers: Speakers) {
    this.#speakers = speakers
    this.application = applicationFor(tls)
  }

  /** Rejects if the files are not a certificate and its key. */
  static async open(tls: Tls | undefined, speakers: Speakers): Promise<Acceptor> {
    const acceptor = new Acceptor(tls, speakers)
    await acceptor.present(tls)
    return acceptor
  }

  /**
   * Shows this certificate from the next connection on. Rejects if the files are not a certificate and its key, and
   * then changes nothing. Resolves with a function that takes it back.
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
    // The new ones are added first: with none at all, the acceptor would answer connections itself.
    for (const descriptor of to) this.application.addChildAppDescriptor(descriptor)
    for (const descriptor of this.#current) this.application.removeChildAppDescriptor(descriptor)
    this.#current = to
  }
}

/** The suites of TLS 1.2 with forward secrecy. All suites of TLS 1.3 have it, and older versions are not offered. */
const SUITES = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((suite) => [
  `ECDHE-ECDSA-${suite}`,
  `ECDHE-RSA-${suite}`,
])

export function applicationFor(tls: Tls | undefined): PassingApp {
  if (tls === undefined) return App() as PassingApp
  const files = { key_file_name: tls.keyFile, cert_file_name: tls.certificateFile }
  return SSLApp({ ...files, ssl_ciphers: SUITES.join(':') }) as PassingApp
}
