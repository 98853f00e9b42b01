import t from 'tap'
import { AUTH_ALGORITHMS } from '../../../src/model/snmp.ts'
import { localisedKey, masterKey, newEngineId, privacyKey } from '../../../src/snmp/keys.ts'

/** The passphrase and engine of the examples in RFC 3414, A.3. */
const PASSPHRASE = 'maplesyrup'
const ENGINE = '000000000000000000000002'

t.test('RFC 3414, A.3.1: MD5', async (test) => {
  const master = await masterKey('md5', PASSPHRASE)
  test.equal(master.toString('hex'), '9faf3283884e92834ebc9847d8edd963')
  test.equal(localisedKey('md5', master, ENGINE), '526f5eed9fcce26f8964c2930787d82b')
})

t.test('RFC 3414, A.3.2: SHA', async (test) => {
  const master = await masterKey('sha', PASSPHRASE)
  test.equal(master.toString('hex'), '9fb5cc0381497b3793528939ff788d5d79145211')
  test.equal(localisedKey('sha', master, ENGINE), '6695febc9288e36282235fc7151f128497b38f3f')
})

t.test('RFC 3414, A.5: keys of a new passphrase', async (test) => {
  const keyOf = async (algorithm: 'md5' | 'sha') =>
    localisedKey(algorithm, await masterKey(algorithm, 'newsyrup'), ENGINE)
  test.equal(await keyOf('md5'), '87021d7bd9d101ba05ea6e3bf9d9bd4a')
  test.equal(await keyOf('sha'), '78e2dcce79d59403b58c1bbaa5bff46391f1cd25')
})

t.test('a passphrase in UTF-8, and one whose length divides nothing, have keys as well', async (test) => {
  for (const passphrase of ['pässwörd ☃☃', 'x'.repeat(255), 'seven77']) {
    for (const algorithm of AUTH_ALGORITHMS) {
      const [one, again] = [await masterKey(algorithm, passphrase), await masterKey(algorithm, passphrase)]
      test.same(one, again)
    }
  }
  await test.rejects(masterKey('md5', ''))
})

t.test('privacy keys have the length of their cipher, for every hash', async (test) => {
  for (const algorithm of AUTH_ALGORITHMS) {
    const localised = localisedKey(algorithm, await masterKey(algorithm, PASSPHRASE), ENGINE)
    for (const [privacy, length] of [
      ['des', 16],
      ['aes', 16],
      ['aes192', 24],
      ['aes256', 32],
    ] as const) {
      const key = privacyKey(algorithm, privacy, localised)
      test.equal(key.length, 2 * length, `${algorithm} ${privacy}`)
      const shared = Math.min(key.length, localised.length)
      test.equal(key.slice(0, shared), localised.slice(0, shared))
    }
  }
})

t.test('engine ids follow RFC 3411 and never repeat', async (test) => {
  const ids = Array.from({ length: 100 }, newEngineId)
  test.equal(new Set(ids).size, 100)
  for (const id of ids) test.match(id, /^80001f8805[0-9a-f]{24}$/)
})
