import { createCipheriv, pbkdf2Sync } from 'node:crypto'
import t from 'tap'
import { parseDer } from '../../../workers/compute/certificate-asn1.ts'
import { decrypt, pkcs12Key, WorkBudget } from '../../../workers/compute/certificate-encryption.ts'

/** PBES2 with AES-256 and HMAC-SHA-256: salt 8 × 01, 1000 rounds, start 16 × 02. */
const AES = parseDer(
  Buffer.from(
    `3057 06092a864886f70d01050d 304a 302906092a864886f70d01050c301c 0408${'01'.repeat(8)} 020203e8 300c06082a864886f70d02090500 301d060960864801650304012a0410${'02'.repeat(16)}`.replaceAll(
      ' ',
      '',
    ),
    'hex',
  ),
)

t.test('PBES2 is opened with its password and with no other', async (test) => {
  const key = pbkdf2Sync('secret', Buffer.alloc(8, 1), 1000, 32, 'sha256')
  const cipher = createCipheriv('aes-256-cbc', key, Buffer.alloc(16, 2))
  const data = Buffer.concat([cipher.update('text'), cipher.final()])
  test.equal(decrypt(AES, data, 'secret', new WorkBudget()).toString(), 'text')
  test.throws(() => decrypt(AES, data, 'other', new WorkBudget()), { name: 'WrongPassword' })
  test.throws(() => decrypt(AES, data.subarray(1), 'secret', new WorkBudget()), { name: 'WrongPassword' })
})

t.test('a file costs a limited number of rounds, all its parts together', async (test) => {
  const ask = (iterations: number, budget: WorkBudget) =>
    pkcs12Key({ password: 'secret', salt: Buffer.alloc(8), iterations, purpose: 1, bytes: 20 }, budget)
  for (const iterations of [0, -1, 1_000_000, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.NaN]) {
    test.throws(() => ask(iterations, new WorkBudget()), { name: 'Unreadable' }, String(iterations))
  }
  const budget = new WorkBudget()
  test.equal(ask(10, budget).length, 20)
  test.throws(
    () => {
      for (let part = 0; part < 100; part++) budget.spend(10_000, 1)
    },
    { name: 'Unreadable' },
  )
})

t.test('unknown encryption methods are named', async (test) => {
  const des = parseDer(Buffer.from('300d06092a864886f70d0105030500'.slice(0, 30), 'hex'))
  test.throws(() => decrypt(des, Buffer.alloc(8), 'x', new WorkBudget()), /1\.2\.840\.113549\.1\.5\.3/)
})
