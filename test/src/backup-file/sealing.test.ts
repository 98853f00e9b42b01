import t from 'tap'
import { newSealingKey, Seal, type Sealed, Unsealer } from '../../../src/backup-file/sealing.ts'
import { parseLimited } from '../../../workers/compute/limited-json.ts'

async function sealedText(text: string): Promise<Sealed> {
  const seal = new Seal(await newSealingKey('correct horse'), 'rbac', 1)
  // Parts whose length is no multiple of three bytes.
  for (const part of text.match(/.{1,4}/gs) ?? []) seal.add(part)
  const { facts, texts } = seal.end()
  return { ...facts, text: texts.join('') }
}

const open = (sealed: Sealed, { passphrase = 'correct horse', name = 'rbac', version = 1 } = {}) =>
  new Unsealer(passphrase, parseLimited).open(name, version, sealed)

t.test('sealed text is opened only with the same passphrase in the same place', async (test) => {
  const value = { users: [{ name: 'Zoë', note: 'x'.repeat(100) }] }
  const sealed = await sealedText(JSON.stringify(value))
  test.same(open(sealed), { value })
  test.equal(open(sealed, { passphrase: 'wrong horse' }), undefined)
  test.equal(open(sealed, { name: 'system' }), undefined)
  test.equal(open(sealed, { version: 2 }), undefined)
  test.equal(open({ ...sealed, text: `AAAA${sealed.text.slice(4)}` }), undefined)
  test.equal(open({ ...sealed, tag: `AAAA${sealed.tag.slice(4)}` }), undefined)
})

t.test('sealed text that is no JSON, or nested too deeply, is nothing', async (test) => {
  test.same(open(await sealedText('{')), { value: undefined })
  test.same(open(await sealedText('['.repeat(100_000))), { value: undefined })
})

t.test('the same text is never sealed alike twice', async (test) => {
  const [one, other] = [await sealedText('{}'), await sealedText('{}')]
  test.not(one.text, other.text)
  test.not(one.salt, other.salt)
})
