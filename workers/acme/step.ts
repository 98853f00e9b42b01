import { createHash } from 'node:crypto'
import type { Authorization, Client, Order } from 'acme-client'
import type { AcmeAnswer, AcmeFailed, AcmeStep, AcmeStepped } from '../../src/model/acme.ts'
import { askCa, type Door, doors, saidIn } from './door.ts'
import { reasonOf } from '../../src/base/reason.ts'

/** Delay before the next poll when the CA gives none. */
const LOOK_AFTER_S = 2
const REASON_LENGTH_MAX = 2_000

const library = async () => {
  const acme = await import('acme-client')
  // The library's own adapter would follow redirects, retry for minutes, and use a proxy from the environment.
  acme.axios.defaults.adapter = async (config) => {
    const { method = 'get', url = '', headers, data } = config
    const asked = { method: method.toUpperCase(), url, headers: headers.toJSON(true) }
    const { status, headers: got, text } = await askCa({ ...asked, body: typeof data === 'string' ? data : '' })
    return { status, statusText: '', headers: got as Record<string, string>, data: text, config }
  }
  return acme
}

/** Advances an order until something must be stored, or the CA must be waited for. */
export async function stepOf(step: AcmeStep): Promise<AcmeStepped> {
  const { account, allowsLoopback } = step
  const door: Door = { caCertificate: account.caCertificate, allowsLoopback }
  return doors.run(door, async () => {
    try {
      return await advanced(step, door)
    } catch (error) {
      const reason = door.problem ?? reasonOf(error)
      // The CA does not know the order, or it belongs to another account.
      const isOver =
        door.problem !== undefined && (door.status === 404 || /^(accountDoesNotExist|malformed)/.test(reason))
      return failed(reason, isOver, door.retryAfter_s)
    }
  })
}

function failed(reason: string, isOver: boolean, retryAfter_s?: number): AcmeFailed {
  // oxlint-disable-next-line no-control-regex -- what a CA says goes to logs and terminals
  const line = reason.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').slice(0, REASON_LENGTH_MAX)
  return { is: 'failed', reason: line, retryAfter_s, isOver }
}

async function advanced(step: AcmeStep, door: Door): Promise<AcmeStepped> {
  const { orderUrl, accountUrl } = step.progress
  const client = await clientOf(step)
  if (orderUrl === undefined || accountUrl === undefined) return ordered(client, step)
  // Sound: the library reads nothing of the order but its URL.
  const order = await client.getOrder({ url: orderUrl } as Order)
  if (order.status === 'pending') return answered(client, order, step, door)
  if (order.status === 'ready') return finalized(client, order, step, door)
  if (order.status === 'valid') return { is: 'issued', chain: await client.getCertificate(order) }
  if (order.status === 'processing') return { is: 'waiting', after_s: door.retryAfter_s ?? LOOK_AFTER_S }
  return invalid(client, order)
}

async function clientOf({ account, progress }: AcmeStep): Promise<Client> {
  const { Client: AcmeClient } = await library()
  const { directoryUrl, privateKey: accountKey, externalAccountBinding: binding } = account
  return new AcmeClient({
    directoryUrl,
    accountKey,
    ...(progress.accountUrl === undefined ? {} : { accountUrl: progress.accountUrl }),
    ...(binding === undefined ? {} : { externalAccountBinding: { kid: binding.keyId, hmacKey: binding.hmacKey } }),
  })
}

/** The CA answers with the existing account if there is one. */
async function ordered(client: Client, { account, names }: AcmeStep): Promise<AcmeStepped> {
  await client.createAccount({
    termsOfServiceAgreed: account.termsAgreed,
    contact: account.contact.map((address) => `mailto:${address}`),
  })
  const { url } = await client.createOrder({ identifiers: names.map((value) => ({ type: 'dns', value })) })
  return { is: 'ordered', orderUrl: url, accountUrl: client.getAccountUrl() }
}

interface Asked {
  readonly name: string
  readonly challenge: Authorization['challenges'][number]
}

/** Tells the CA to validate every name that is still pending. */
async function answered(client: Client, order: Order, step: AcmeStep, door: Door): Promise<AcmeStepped> {
  const { challenge: type, names, progress } = step
  // A CA names a wildcard without its star.
  const wanted = new Set(names.map((name) => name.replace(/^\*\./, '')))
  const asked: Asked[] = []
  for (const authorization of await client.getAuthorizations(order)) {
    const { status, identifier, challenges } = authorization
    if (status === 'invalid') return failed(refusalIn(authorization), true)
    if (status !== 'pending') continue
    // The name goes to a script as well, so only ordered names are used.
    if (!wanted.has(identifier.value.toLowerCase()))
      return failed(`The CA asks for ${identifier.value}, which was not ordered`, true)
    const challenge = challenges.find((one) => one.type === type)
    if (challenge === undefined) return failed(`The CA offers no ${type} for ${identifier.value}`, true)
    asked.push({ name: identifier.value, challenge })
  }
  // HTTP-01 answers are known in advance; any other answer must be published before the CA validates.
  if (type !== 'http-01' && progress.answers === undefined) {
    const answers = await Promise.all(asked.map((one) => answerTo(client, one)))
    return { is: 'promised', answers }
  }
  for (const { challenge } of asked) if (challenge.status === 'pending') await client.completeChallenge(challenge)
  return { is: 'waiting', after_s: door.retryAfter_s ?? LOOK_AFTER_S }
}

async function answerTo(client: Client, { name, challenge }: Asked): Promise<AcmeAnswer> {
  const promise = await client.getChallengeKeyAuthorization(challenge)
  // For dns-01 the library already returns the digest.
  if (challenge.type === 'dns-01') return { name: `_acme-challenge.${name}`, value: promise }
  return { name, value: createHash('sha256').update(promise).digest('base64url') }
}

/** Returns the new key to be stored before it is used. */
async function finalized(client: Client, order: Order, step: AcmeStep, door: Door): Promise<AcmeStepped> {
  const { crypto } = await library()
  const { names, keyType, progress } = step
  if (progress.privateKey === undefined) {
    const size = Number(keyType.replace(/^[a-z]+/, ''))
    const key = keyType.startsWith('rsa')
      ? await crypto.createPrivateRsaKey(size)
      : await crypto.createPrivateEcdsaKey(size === 384 ? 'P-384' : 'P-256')
    return { is: 'keyed', privateKey: key.toString() }
  }
  const [, csr] = await crypto.createCsr({ altNames: [...names] }, progress.privateKey)
  await client.finalizeOrder(order, csr)
  return { is: 'waiting', after_s: door.retryAfter_s ?? LOOK_AFTER_S }
}

async function invalid(client: Client, order: Order): Promise<AcmeStepped> {
  const refused = (await client.getAuthorizations(order)).filter(({ status }) => status === 'invalid').map(refusalIn)
  return failed(refused.join('; ') || saidIn(order.error) || `The CA says that the order is ${order.status}`, true)
}

/** Returns why the CA did not validate a name. */
function refusalIn({ identifier, challenges }: Authorization): string {
  const reasons = challenges.map((challenge) => saidIn(Reflect.get(challenge, 'error'))).filter((text) => text !== '')
  return `${identifier.value}: ${reasons.join('; ') || 'refused'}`
}
