import { SSLApp, type TemplatedApp } from 'uWebSockets.js'

export interface Tls {
  readonly keyFile: string
  /** PEM, with the certificates between it and the root after it. */
  readonly certificateFile: string
}

/** Missing in the package's types. */
interface Passing {
  getDescriptor(): unknown
  addChildAppDescriptor(descriptor: unknown): unknown
  removeChildAppDescriptor(descriptor: unknown): unknown
}
type PassingApp = TemplatedApp & Passing

/**
 * Takes connections and passes each to an application that shows the certificate of the moment. A port that never
 * closes loses nobody when the certificate changes, and connections that are open stay with the one they were made
 * with.
 */
export class TlsFront {
  /** Listens; it never speaks TLS itself. */
  readonly acceptor: TemplatedApp
  readonly #serve: (app: TemplatedApp) => void
  readonly #applications: PassingApp[] = []
  #current: PassingApp | undefined

  constructor(tls: Tls, serve: (app: TemplatedApp) => void) {
    this.#serve = serve
    this.acceptor = applicationFor(tls)
    this.present(tls)
  }

  /**
   * From the next connection on. Throws when this is no certificate with its key, and changes nothing. The answer takes
   * it back.
   */
  present(tls: Tls): () => void {
    const fresh = applicationFor(tls)
    this.#serve(fresh)
    this.#applications.push(fresh)
    const before = this.#current
    this.#pass(fresh)
    return () => {
      if (before !== undefined) this.#pass(before)
    }
  }

  close(): void {
    this.acceptor.close()
    for (const application of this.#applications) application.close()
  }

  #pass(to: PassingApp): void {
    const acceptor = this.acceptor as PassingApp
    acceptor.addChildAppDescriptor(to.getDescriptor())
    // Added first: without any, the acceptor would answer itself.
    if (this.#current !== undefined) acceptor.removeChildAppDescriptor(this.#current.getDescriptor())
    this.#current = to
  }
}

/**
 * Of TLS 1.2, those that keep what was said secret when the key gets out later. TLS 1.3 has no others, and older is not
 * spoken.
 */
const SUITES = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((suite) => [
  `ECDHE-ECDSA-${suite}`,
  `ECDHE-RSA-${suite}`,
])

function applicationFor({ keyFile, certificateFile }: Tls): PassingApp {
  const files = { key_file_name: keyFile, cert_file_name: certificateFile }
  return SSLApp({ ...files, ssl_ciphers: SUITES.join(':') }) as PassingApp
}
