import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { createDecoder, createSigner, createVerifier, TokenError } from 'fast-jwt'

export const TOKEN_LIFE_MS = 3_600_000

export interface Claims {
  readonly sub: string
  readonly sid: string
  /** Seconds since the epoch. */
  readonly exp: number
  /** Absent in tokens; see `RESUMES`. */
  readonly use?: string
  /** In tickets only: the hash of the page's key. */
  readonly page?: string
}

export type TokenFault = 'expired' | 'invalid'

/** The `use` of a ticket, which is valid for `POST /token/resume` only. */
const RESUMES = 'resume'

/** Signs and verifies the daemon's tokens (EdDSA). A token names a user and a session and carries no rights. */
export class Tokens {
  readonly #sign: (claims: Record<string, unknown>) => string
  readonly #verify: Verify
  /** Public keys of the cluster's other nodes, by key id. */
  #others: ReadonlyMap<string, Verify> = new Map()
  /** PEM: the key with which other nodes verify this node's tokens. */
  readonly publicKey: string

  constructor(keyFile: string) {
    const pem = existsSync(keyFile) ? readFileSync(keyFile, 'utf8') : createKey(keyFile)
    this.publicKey = publicKeyOf(pem, keyFile)
    this.#sign = createSigner({ algorithm: 'EdDSA', key: pem, kid: idOf(this.publicKey) })
    this.#verify = verifierOf(this.publicKey)
  }

  /** Trusts tokens of these keys (PEM) from now on, and no others except its own. */
  trust(publicKeys: readonly string[]): void {
    this.#others = new Map(publicKeys.map((key) => [idOf(key), verifierOf(key)]))
  }

  sign(claims: Claims, jti: string): string {
    return this.#sign({ ...claims, jti })
  }

  /** Signs a ticket, which a browser keeps in place of a token. */
  signTicket(claims: Claims, jti: string): string {
    return this.#sign({ ...claims, jti, use: RESUMES })
  }

  verify(token: string): Claims | TokenFault {
    return this.#verifyFor(token, undefined)
  }

  verifyTicket(ticket: string): Claims | TokenFault {
    return this.#verifyFor(ticket, RESUMES)
  }

  #verifyFor(token: string, use: string | undefined): Claims | TokenFault {
    try {
      const claims = this.#verifier(token)(token)
      const whole = typeof claims.sub === 'string' && typeof claims.sid === 'string' && typeof claims.exp === 'number'
      return whole && claims.use === use ? claims : 'invalid'
    } catch (error) {
      return error instanceof TokenError && error.code === TokenError.codes.expired ? 'expired' : 'invalid'
    }
  }

  #verifier(token: string): Verify {
    if (this.#others.size === 0) return this.#verify
    return this.#others.get(decode(token).header.kid ?? '') ?? this.#verify
  }
}

type Verify = (token: string) => Claims

const verifierOf = (key: string): Verify => createVerifier({ algorithms: ['EdDSA'], key, cache: false })
/** Throws a TokenError if there is nothing to decode. */
const decode: (token: string) => { readonly header: { readonly kid?: string } } = createDecoder({ complete: true })
const idOf = (publicKey: string) => createHash('sha256').update(publicKey).digest('base64url').slice(0, 16)

function publicKeyOf(pem: string, keyFile: string): string {
  try {
    return createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'pem' }).toString()
  } catch {
    throw new Error(`${keyFile} is not a complete private key; restore it, or remove it to end all sessions`)
  }
}

/** Written and flushed under another name first, so that a crash leaves either a whole key or none. */
function createKey(file: string): string {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const descriptor = openSync(`${file}.new`, 'w', 0o600)
  writeSync(descriptor, pem)
  fsyncSync(descriptor)
  closeSync(descriptor)
  renameSync(`${file}.new`, file)
  return pem
}
