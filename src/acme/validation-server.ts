import { rmSync } from 'node:fs'
import { createSecureContext, createServer, type SecureContext, type Server } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../base/log.ts'
import { selfSigned } from '../base/self-signed.ts'
import type { AcmeAnswer } from '../model/acme.ts'
import type { ConfigView } from '../model/sections.ts'

const PROTOCOL = 'acme-tls/1'
/** id-pe-acmeIdentifier, in a certificate (RFC 8737, section 3). */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'
/** DER header of an octet string of 32 bytes. */
const OCTETS_32 = Buffer.from([0x04, 0x20])
const HANDSHAKE_MS = 10_000
const CONNECTIONS_MAX = 64
/** How long to wait for this node to learn of a challenge that another node accepted. */
const BEHIND_MS = 3_000
const LOOK_EVERY_MS = 100
const KEPT_MAX = 200

export interface ValidationServerParts {
  /** The socket to which HAProxy forwards handshakes of CAs. */
  readonly socket: string
  /** The configuration that all nodes run. */
  readonly agreed: Pick<ConfigView, 'list'>
  readonly log: Pick<Log, 'warn'>
}

/**
 * Answers TLS-ALPN-01 handshakes (RFC 8737) from the stored orders. It keeps no state, so each node, and the next
 * start, can answer.
 */
export class ValidationServer {
  readonly #parts: ValidationServerParts
  readonly #server: Server
  readonly #made = new Map<string, Promise<SecureContext>>()

  constructor(parts: ValidationServerParts) {
    this.#parts = parts
    this.#server = createServer(
      {
        ALPNProtocols: [PROTOCOL],
        minVersion: 'TLSv1.2',
        handshakeTimeout: HANDSHAKE_MS,
        SNICallback: (name, done) => void this.#contextFor(name.toLowerCase()).then((made) => done(null, made), done),
      },
      // The handshake was the answer.
      (socket) => socket.end(),
    )
    this.#server.maxConnections = CONNECTIONS_MAX
    // For clients that hang up, or request a name that was not ordered.
    this.#server.on('tlsClientError', (_, socket) => socket.destroy())
  }

  start(): Promise<void> {
    const { socket, log } = this.#parts
    // Left by a daemon that was killed; each state folder has only one.
    rmSync(socket, { force: true })
    return new Promise((resolve) => {
      // A daemon that cannot answer CAs still serves.
      this.#server.once('error', (error) => {
        log.warn('CAs get no answers by TLS-ALPN-01', { socket, reason: error.message })
        resolve()
      })
      // HAProxy runs under another account; the answers are not secret.
      this.#server.listen({ path: socket, readableAll: true, writableAll: true }, resolve)
    })
  }

  close(): void {
    this.#server.close()
  }

  async #contextFor(name: string): Promise<SecureContext> {
    const answer = await this.#promised(name)
    const key = `${answer.name} ${answer.value}`
    let made = this.#made.get(key)
    if (made === undefined) {
      if (this.#made.size >= KEPT_MAX) this.#made.clear()
      made = validationContext(answer)
      this.#made.set(key, made)
    }
    return made
  }

  async #promised(name: string): Promise<AcmeAnswer> {
    for (let waited_ms = 0; ; waited_ms += LOOK_EVERY_MS) {
      let isUnderWay = false
      for (const { challenge, names, progress } of this.#parts.agreed.list('acmeOrders')) {
        if (challenge !== 'tls-alpn-01' || !names.includes(name)) continue
        const answer = progress?.answers?.find((one) => one.name === name)
        if (answer !== undefined) return answer
        isUnderWay ||= progress?.orderUrl !== undefined
      }
      if (!isUnderWay || waited_ms >= BEHIND_MS) throw new Error('there is no pending challenge for that name')
      await sleep(LOOK_EVERY_MS)
    }
  }
}

/** Creates a certificate with the answer to the challenge and nothing else. */
async function validationContext({ name, value }: AcmeAnswer): Promise<SecureContext> {
  const promised = { oid: ACME_IDENTIFIER, value: Buffer.concat([OCTETS_32, Buffer.from(value, 'base64url')]) }
  const { key, certificate } = await selfSigned(name, [{ type: 'dns', value: name }], 1, [promised])
  return createSecureContext({ key, cert: certificate })
}
