import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startApplianceGuest } from './appliance-guest.ts'
import { guestObstacle } from './guest.ts'

/** The power fails in the middle of commits and applies: the kernel loses what it had not written. */

const ROUNDS = 3
const EDITS = 12
const WRITERS = 3
const CUT = 'cut'

t.setTimeout(1_200_000)

t.test('an appliance without power in the middle of commits', { skip: guestObstacle() ?? false }, async (t) => {
  const { guest, api, shell, logIn, soon } = await startApplianceGuest(t)
  const namesOf = (records: unknown) => new Set((records as readonly { name: string }[]).map(({ name }) => name))
  const answered: string[] = []
  /** Names that existed before an answered apply began. */
  const applied: string[] = []
  let writers = 0

  for (let round = 1; round <= ROUNDS; round++) {
    await t.test(`round ${round}`, async (t) => {
      let end: (what: typeof CUT) => void = () => undefined
      const cut = new Promise<typeof CUT>((resolve) => (end = resolve))
      let isOn = true
      /** Requests at the moment of the power cut get no answer. */
      const ask = async (method: string, path: string, body?: object) => {
        const answer = await Promise.race([api.request(method, path, body), cut])
        return answer === CUT ? 0 : answer.status
      }
      const write = async () => {
        const writer = (writers += 1)
        for (let count = 0; isOn; count++) {
          const name = `edit-${writer}-${count}`
          const record = { name, ip: `198.18.${writer}.${count % 250}`, port: 80, weight: 1 }
          if ((await ask('POST', '/ipvsDirector/rips', record)) === 201) answered.push(name)
        }
      }
      const apply = async () => {
        while (isOn) {
          const before = answered.slice()
          const status = await ask('PUT', '/services/apply')
          if (status === 200) applied.push(...before.slice(applied.length))
          else await sleep(100)
        }
      }
      const before = answered.length
      const all = [...Array.from({ length: WRITERS }, write), apply()]
      await soon('edits and an apply', async () => answered.length >= before + EDITS && applied.length > before)
      const boot = await guest.bootId()
      // Its answer is not awaited: on a busy machine the power fails before it arrives.
      void shell('(sleep 0.2; echo b > /proc/sysrq-trigger) > /dev/null 2>&1 &')
      await guest.upAgain(boot)
      isOn = false
      end(CUT)
      await Promise.all(all)
      await soon('a login', async () => (await logIn().catch(() => '')) !== '')

      const records = namesOf((await api.request('GET', '/ipvsDirector/rips')).data)
      const missing = answered.filter((name) => !records.has(name))
      t.same(missing, [], `${answered.length} answered edits are there`)
      const { changes } = (await api.request('GET', '/services/pending')).data as {
        changes: readonly { name: string }[]
      }
      const pending = namesOf(changes)
      t.same(
        applied.filter((name) => pending.has(name)),
        [],
        `${applied.length} applied edits are running`,
      )
      t.equal((await api.request('PUT', '/services/apply')).status, 200, 'edits that were not applied go live now')
      t.match((await api.request('GET', '/services/pending')).data, { count: 0 })
      applied.splice(0, applied.length, ...answered)
    })
  }
})
