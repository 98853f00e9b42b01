import forge from 'node-forge'
import t from 'tap'
import type { CertificateForm } from '../../src/model/certificates.ts'
import { readCertificate } from '../../workers/compute/certificate.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'

// oxlint-disable-next-line node/no-process-env -- a long run is asked for this way
const { FULCRUM_TEST_CERTIFICATES = '2000', FULCRUM_TEST_CERTIFICATE_SEED = '1' } = process.env
/** The only asserted duration: a file that occupies the worker for seconds would delay the files of all users. */
const LONGEST_MS = 5_000
/** Processor time: on a busy machine a computation has to wait. */
const computed_ms = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

const CODES = /^(INVALID_BODY|CERTIFICATE_EXPIRED|KEY_MISMATCH|PFX_PASSWORD|PAYLOAD_TOO_LARGE)$/
/** Messages of libraries, and the text after -----BEGIN PRIVATE KEY----- in any PEM of PKCS #8. */
const RAW = /error:[0-9A-F]{8}|ERR_|at .*\.ts|undefined|\[object|MIG|MC4C/

function random(seed: number) {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Bytes flipped, cut, doubled, moved; lengths and kinds of ASN.1 changed. */
function mutated(bytes: Buffer, pick: (below: number) => number): Buffer {
  const copy = Buffer.from(bytes)
  for (let times = 1 + pick(4); times > 0; times--) copy[pick(copy.length)] = pick(256)
  const at = pick(copy.length)
  const forms = [
    copy,
    copy.subarray(0, at),
    Buffer.concat([copy, copy.subarray(at)]),
    Buffer.concat([copy.subarray(at), copy]),
  ]
  return forms[pick(8)] ?? copy
}

t.test('whatever is uploaded, the answer is a certificate or coded problems, in little time', async (test) => {
  const { pair, pfx, encryptedKey } = certificateMaker(test)
  const root = pair({ name: 'Root', isCa: true })
  const leaf = pair({ name: 'leaf.test', issuer: root })
  const rsa = pair({ name: 'rsa.test', key: 'rsa:2048', issuer: root })
  const pems = [leaf.cert + root.cert + leaf.key, rsa.cert + encryptedKey(rsa, 'secret')]
  const pfxs = [leaf, rsa].flatMap((one) =>
    [[], ['-legacy'], ['-keypbe', 'NONE', '-certpbe', 'NONE', '-nomac']].map((more) =>
      Buffer.from(pfx(one, 'secret', ...more), 'base64'),
    ),
  )
  const seed = Number(FULCRUM_TEST_CERTIFICATE_SEED)
  const pick = random(seed)
  const one = <T>(list: readonly T[]): T => {
    const found = list[pick(list.length)]
    if (found === undefined) throw new Error('nothing to pick from')
    return found
  }
  const text = (): string => {
    const whole = one(pems)
    if (pick(2) === 0) return mutated(Buffer.from(whole), pick).toString('latin1')
    return whole.replaceAll(/(-----BEGIN [A-Z ]+-----\n)([^-]+)/g, (_, begin: string, body: string) => {
      const raw = Buffer.from(body, 'base64')
      return `${begin}${(pick(2) === 0 ? raw : mutated(raw, pick)).toString('base64')}\n`
    })
  }
  const form = (): CertificateForm => {
    const kind = pick(3)
    if (kind === 0) return { form: 'pem', pem: text() }
    if (kind === 1) return { form: 'pfx', pfx: mutated(one(pfxs), pick).toString('base64') }
    return { form: 'parts', cert: text(), privateKey: text(), otherCerts: [text()] }
  }
  const bad: string[] = []
  let [refused, longest_ms] = [0, 0]
  for (let index = 0; index < Number(FULCRUM_TEST_CERTIFICATES); index++) {
    const upload = form()
    const from_ms = computed_ms()
    const answer = readCertificate({ upload, password: 'secret', force: pick(2) === 0, now_ms: Date.now() })
    longest_ms = Math.max(longest_ms, computed_ms() - from_ms)
    if (!('problems' in answer)) continue
    refused++
    if (answer.problems.length === 0) bad.push(`${index}: refused without a problem`)
    for (const { code, message } of answer.problems) {
      if (!CODES.test(code) || RAW.test(message) || message.length > 500) bad.push(`${index}: ${code} ${message}`)
    }
  }
  test.same(bad, [], `seed ${seed}`)
  test.ok(refused > 0)
  test.ok(longest_ms < LONGEST_MS, `${longest_ms} ms`)
})

/** Returns the DER of a value of this kind around others. */
function der(kind: number, ...contents: readonly Buffer[]): Buffer {
  const body = Buffer.concat(contents)
  if (body.length < 0x80) return Buffer.concat([Buffer.from([kind, body.length]), body])
  const length = Buffer.from(
    body.length.toString(16).padStart(body.length < 256 ? 2 : body.length < 65_536 ? 4 : 6, '0'),
    'hex',
  )
  return Buffer.concat([Buffer.from([kind, 0x80 | length.length]), length, body])
}

/** The same PFX, whose checksum requires two thousand million rounds. */
function withRounds(base64: string): string {
  const node = forge.asn1.fromDer(forge.util.decode64(base64))
  const mac = Object(node.value)[2]
  mac.value[2].value = '\x7f\xff\xff\xff'
  return forge.util.encode64(forge.asn1.toDer(node).getBytes())
}

t.test('bombs: nesting, rounds of key derivation, very many parts', async (test) => {
  const { pair, pfx } = certificateMaker(test)
  const leaf = pair({ name: 'leaf.test' })
  let nested: Buffer = Buffer.from([5, 0])
  for (let depth = 0; depth < 10_000; depth++) nested = der(0x30, nested)
  const open = Buffer.alloc(200_000, Buffer.from([0x30, 0x80]))
  const rounds = withRounds(pfx(leaf, 'secret'))
  const certificates = leaf.cert.repeat(300)
  const uploads: Record<string, CertificateForm> = {
    nested: { form: 'pfx', pfx: nested.toString('base64') },
    'nested without ends': { form: 'pfx', pfx: open.toString('base64') },
    'nested in PEM': {
      form: 'pem',
      pem: `-----BEGIN CERTIFICATE-----\n${nested.toString('base64')}\n-----END CERTIFICATE-----`,
    },
    'a thousand certificates': { form: 'pem', pem: certificates },
    'a thousand others': {
      form: 'parts',
      cert: leaf.cert,
      privateKey: leaf.key,
      otherCerts: Array.from({ length: 300 }, () => leaf.cert),
    },
    'beginnings without ends': { form: 'pem', pem: '-----BEGIN A-----'.repeat(15_000) },
    'a header without an end': { form: 'pem', pem: `-----BEGIN A-----${'a:\n'.repeat(80_000)}-----END A-----` },
    rounds: { form: 'pfx', pfx: rounds },
  }
  for (const [name, upload] of Object.entries(uploads)) {
    const from_ms = computed_ms()
    const answer = readCertificate({ upload, password: 'secret', force: false, now_ms: Date.now() })
    const took_ms = computed_ms() - from_ms
    test.ok(took_ms < LONGEST_MS, `${name}: ${Math.round(took_ms)} ms`)
    const problems = 'problems' in answer ? answer.problems : []
    if (name === 'rounds') test.match(problems, [{ field: 'pfx', message: /too many rounds/ }])
    test.ok(problems.length > 0 || name === 'a thousand others', `${name}: ${problems[0]?.message}`)
  }
})
