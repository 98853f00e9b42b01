import t from 'tap'
import { answerList, type ListRules } from '../../../src/api/lists.ts'
import { Reply } from '../../../src/api/reply.ts'
import { ApiError } from '../../../src/base/errors.ts'

interface Thing {
  readonly id: string
  readonly name: string
  readonly at?: readonly { readonly ip: string }[]
}
type Asked = Parameters<typeof answerList>[3]

const BY_NAME: ListRules = { searched: ['name', 'at.ip'] }
const listing = (list: ListRules) => ({ name: 'things.list', message: 'Things of {where}', list })
const ask = (things: unknown, asked: Asked, list = BY_NAME) =>
  answerList(listing(list), things, { where: 'here' }, asked)

/** Returns the answer: data and `next`. */
function page(things: unknown, asked: Asked, list = BY_NAME) {
  const answer = ask(things, asked, list)
  const { data, beside } = answer instanceof Reply ? answer : { data: answer, beside: {} }
  return { things: data as Thing[], next: Reflect.get(beside, 'next') as string | undefined }
}
const ids = (things: readonly Thing[]) => things.map(({ id }) => id).join('')
const thing = (id: string, more: Partial<Thing> = {}): Thing => ({ id, name: `Thing ${id}`, ...more })
const things = ['a', 'b', 'c', 'd'].map((id) => thing(id))

/** Returns the same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

t.test('without parameters the answer is that of the handler', async (test) => {
  const reply = Reply.with(things, { beside: { count: 4 } })
  for (const result of [things, reply, { lists: things }]) test.equal(ask(result, {}), result)
})

t.test('pages together are the whole list, whatever is added and deleted meanwhile: 300 lives', async (test) => {
  for (let seed = 1; seed <= 300; seed++) {
    const below = numbers(seed)
    const made = () => `${String.fromCharCode(97 + below(26))}${below(100)}`
    const all = new Map(Array.from({ length: below(40) }, made).map((id) => [id, thing(id)]))
    const inOrder = () => [...all.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const [before, gone, told] = [inOrder(), new Set<string>(), [] as string[]]
    let after: { readonly after?: string } = {}
    for (;;) {
      const got = page(inOrder(), { limit: 1 + below(5), ...after })
      told.push(...got.things.map(({ id }) => id))
      if (got.next === undefined) break
      after = { after: got.next }
      // The last one of the page is the place itself.
      for (const id of [told.at(-1) ?? '', ...all.keys()]) {
        if (below(4) > 0) continue
        all.delete(id)
        gone.add(id)
      }
      for (const id of [made(), made()]) if (!gone.has(id)) all.set(id, thing(id))
    }
    const stayed = before.map(({ id }) => id).filter((id) => !gone.has(id))
    test.same(told, [...new Set(told)].toSorted(), `seed ${seed}: in order, none twice`)
    test.same(
      stayed.filter((id) => !told.includes(id)),
      [],
      `seed ${seed}: none is missed`,
    )
  }
})

t.test('a whole number of pages ends without an empty one', async (test) => {
  const first = page(things, { limit: 2 })
  test.equal(ids(first.things), 'ab')
  const second = page(things, { limit: 2, after: first.next ?? '' })
  test.same([ids(second.things), second.next], ['cd', undefined])
  test.same(page([], { limit: 2 }), { things: [], next: undefined })
  test.equal(ids(page(things, { after: first.next ?? '' }).things), 'cd', 'all later ones, without a limit')
})

t.test('names are compared whole and parts anywhere, in any case; pages hold what fits', async (test) => {
  const web = [
    thing('a', { name: 'Web1', at: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }] }),
    thing('b', { name: 'web10' }),
    thing('web', { name: 'mail', at: [] }),
  ]
  const found = (asked: Asked) => ids(page(web, asked).things)
  test.equal(found({ name: 'WEB1' }), 'a')
  test.equal(found({ name: 'web' }), '')
  test.equal(found({ q: 'WEB' }), 'abweb')
  test.equal(found({ q: 'db8::' }), 'a')
  test.equal(found({ name: 'web1', q: 'mail' }), '')
  test.equal(found({ q: '.*' }), '')
  const odd = String.raw`^$\.*+?()[]{}|/-#&~ é`
  test.equal(ids(page([thing('a', { name: `x${odd}y` }), thing('b')], { q: odd.toUpperCase() }).things), 'a')
  const first = page(web, { q: 'web1', limit: 1 })
  test.same([ids(first.things), ids(page(web, { q: 'web1', limit: 1, after: first.next ?? '' }).things)], ['a', 'b'])
})

t.test('a place that the list does not have is refused', async (test) => {
  const { next = '' } = page(things, { limit: 1 })
  const other = answerList({ ...listing(BY_NAME), name: 'others.list' }, things, {}, { limit: 1 })
  const [ofOther, broken] = [String((other as Reply<unknown>).beside['next']), Buffer.from('things.list \ud800')]
  for (const after of ['a', '!', `${next}=`, next.slice(0, -1), ofOther, broken.toString('base64url').slice(0, -2)]) {
    const refused = () => ask(things, { after })
    test.throws(refused, { code: 'INVALID_QUERY', details: { errors: [{ field: 'after', code: 'FORMAT' }] } }, after)
    test.throws(refused, ApiError)
  }
})

t.test('fields beside a list, or around it, stay', async (test) => {
  const counted = ask(Reply.with(things, { beside: { count: 4 } }), { limit: 1 })
  test.match(counted, { data: [{ id: 'a' }], beside: { count: 4, next: String } })
  test.match(ask({ lists: things }, { name: 'thing c' }), { data: { lists: [{ id: 'c' }] }, beside: {} })
  test.throws(() => ask({ lists: 'none' }, { limit: 1 }))
})

t.test('a list has its usual limit and the order of its keys', async (test) => {
  const rules = { searched: [], usual: 3, key: ({ name }: Thing) => name }
  const named = ['1', '2', '3', '4'].map((name, at) => ({ id: String(9 - at), name }))
  const first = page(named, {}, rules)
  test.equal(ids(first.things), '987')
  test.equal(ids(page(named, { after: first.next ?? '' }, rules).things), '6')
})

t.test('a list with its own order continues after the record of a place, as long as that exists', async (test) => {
  const rules = { ...BY_NAME, hasOwnOrder: true } as const
  const mixed = ['c', 'a', 'd', 'b'].map((id) => thing(id))
  const first = page(mixed, { limit: 2 }, rules)
  test.equal(ids(first.things), 'ca')
  const after = first.next ?? ''
  test.equal(ids(page(mixed, { after, q: 'b' }, rules).things), 'b')
  test.equal(ids(page(mixed, { after }, rules).things), 'db')
  test.throws(() => page(things.slice(1), { after }, rules), { code: 'INVALID_QUERY' })
})

t.test('lazily built records are looked up in their turn, and only those of the page', async (test) => {
  for (const count of [2, 201, 400, 1_001]) {
    let told = 0
    const records = Array.from({ length: count }, (_, at) => thing(String(at).padStart(4, '0')))
    const each = () =>
      Reply.each(records, (record) => {
        told += 1
        return record
      })
    test.equal(page(each(), { limit: 2 }).things.length, 2)
    test.equal(told, 2)
    told = 0
    const whole = envelopeOf(ask(each(), {}))
    test.equal(whole.first, Math.min(count, 200), 'the others have to wait')
    test.equal(whole.text, JSON.stringify({ status: 'success', message: 'Things of here', data: records }))
    const paged = envelopeOf(ask(each(), { limit: 201 })).text
    const { next } = page(each(), { limit: 1 })
    const rest = envelopeOf(ask(each(), { after: next ?? '' })).text
    test.same(JSON.parse(rest).data, records.slice(1))
    const { data, ...beside } = JSON.parse(paged)
    test.same(data, records.slice(0, 201))
    test.equal('next' in beside, count > 201)

    function envelopeOf(answer: unknown): { readonly text: string; readonly first: number } {
      if (!(answer instanceof Reply)) throw new Error('it is a reply')
      const slices = answer.rendered?.slices?.()
      const message = 'Things of here'
      if (slices === undefined)
        return {
          text: JSON.stringify({ status: 'success', message, data: answer.data, ...answer.beside }),
          first: told,
        }
      const parts = [slices.next().value]
      const first = told
      for (let part = slices.next(); part.done !== true; part = slices.next()) parts.push(part.value)
      return { text: parts.map((part) => Buffer.from(part ?? '').toString()).join(''), first }
    }
  }
})

t.test('fields beside a long list come after it', async (test) => {
  const many = Array.from({ length: 300 }, (_, at) => thing(String(at + 100)))
  const answer = ask(Reply.with(many, { beside: { count: 7 } }), { q: 'thing', limit: 250 })
  const parts: string[] = []
  const slices = (answer as Reply<unknown>).rendered?.slices?.()
  for (let part = slices?.next(); part?.done === false; part = slices?.next())
    parts.push(String(Buffer.from(part.value)))
  test.match(JSON.parse(parts.join('')), { data: { length: 250 }, count: 7, next: String })
})
