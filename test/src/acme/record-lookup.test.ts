import t from 'tap'
import { askerOf, whyInvisible } from '../../../src/acme/record-lookup.ts'

const NAME = '_acme-challenge.www.a.test'
const ANSWERS = [{ name: NAME, value: 'one' }]

/** Name servers that hold these records, by address; the machine's resolver knows them. */
function world(shown: Readonly<Record<string, readonly string[]>>, zone = 'a.test') {
  const none = () => Promise.reject(new Error('ENODATA'))
  const asked: string[] = []
  const asker = (servers?: readonly string[]) => ({
    resolve4: (name: string) => (name === 'ns1.a.test' ? Promise.resolve(['192.0.2.1']) : none()),
    resolve6: (name: string) => (name === 'ns2.a.test' ? Promise.resolve(['2001:db8::2']) : none()),
    resolveNs: (name: string) => (name === zone ? Promise.resolve(['ns1.a.test', 'ns2.a.test']) : none()),
    resolveTxt(name: string) {
      asked.push(`${servers?.[0]} ${name}`)
      const values = shown[servers?.[0] ?? '']
      return values === undefined ? none() : Promise.resolve(values.map((value) => [value.slice(0, 1), value.slice(1)]))
    },
  })
  return { asked, asker: asker as unknown as typeof askerOf }
}

t.test('all servers of the zone have to show a record', async (test) => {
  const both = world({ '192.0.2.1': ['one'], '2001:db8::2': ['other', 'one'] })
  test.equal(await whyInvisible(ANSWERS, undefined, both.asker), undefined)
  test.same(both.asked, [`192.0.2.1 ${NAME}`, `2001:db8::2 ${NAME}`])
  const behind = world({ '192.0.2.1': ['one'], '2001:db8::2': ['other'] })
  test.equal(await whyInvisible(ANSWERS, undefined, behind.asker), `2001:db8::2 does not show the record ${NAME}`)
})

t.test('or the configured ones; if none is known, that is reported', async (test) => {
  const { asker } = world({ '192.0.2.9': ['one'] }, 'none')
  test.equal(await whyInvisible(ANSWERS, ['192.0.2.9'], asker), undefined)
  test.equal(await whyInvisible(ANSWERS, ['192.0.2.8'], asker), `192.0.2.8 does not show the record ${NAME}`)
  test.match(await whyInvisible(ANSWERS, undefined, asker), /^no name server is known for/)
  test.ok(askerOf(['127.0.0.1:5353']))
})

t.test('a name that is a zone of its own is looked up at the servers of that zone', async (test) => {
  const { asker, asked } = world({ '192.0.2.1': ['one'], '2001:db8::2': ['one'] }, NAME)
  test.equal(await whyInvisible(ANSWERS, undefined, asker), undefined)
  test.same(asked, [`192.0.2.1 ${NAME}`, `2001:db8::2 ${NAME}`])
})
