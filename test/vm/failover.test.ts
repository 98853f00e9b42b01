import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { namespaceObstacle } from '../system/network-namespace.ts'
import { type Director, soon, startDirectors } from './directors.ts'
import { startClients } from './failover-clients.ts'
import { guestObstacle } from './guest.ts'

/** Clients of Layer 4 while a floating IP moves to another machine, each with its own kernel. */

const SOME = 20

t.setTimeout(1_200_000)

t.test('clients of two directors', { skip: guestObstacle() ?? (await namespaceObstacle()) ?? false }, async (t) => {
  const { space, left, right } = await startDirectors(t)
  const clients = await startClients(t, space)
  const session = clients.session()
  const download = clients.download()
  const goesOn = async (t: Test, what: string, to: Director, begin: () => Promise<unknown>) => {
    const { longest_ms, answers, failed } = await clients.gap(async () => {
      // Linux ignores another answer for an address within a second of the previous one.
      await sleep(1_500)
      await begin()
      await soon(`the address at ${to.name}`, () => to.holds())
      const [answered, bytes] = [session.answered(), download.bytes()]
      const isOn = async () => session.answered() > answered + SOME && download.bytes() > bytes
      await soon(`answers through ${to.name}`, isOn)
    })
    t.comment(`${what}: HTTP ${Math.round(longest_ms)} ms without an answer, ${failed} of ${answers + failed} failed`)
    t.equal(session.ended(), '', 'the session is still open')
  }
  await soon('answers', async () => session.answered() > SOME && download.bytes() > 0)

  await t.test('a planned move', async (t) => {
    await goesOn(t, 'planned move', right, () => left.may(false))
    await left.may(true)
    t.notOk(await left.holds(), 'it stays where it is')
  })

  await t.test('one of two network interfaces is cut off, without noticing', async (t) => {
    await goesOn(t, 'card cut off', left, () => space.ip(`link set ${right.port} nomaster`))
    await space.ip(`link set ${right.port} master lan`)
    await soon('one of them', async () => (await left.holds()) !== (await right.holds()))
    const holder = (await left.holds()) ? left : right
    await goesOn(t, 'both are back', holder, async () => undefined)
    if (holder === left) return
    await goesOn(t, 'planned move', left, () => right.may(false))
    await right.may(true)
  })

  await t.test('the cable of one of two network interfaces is pulled', async (t) => {
    await goesOn(t, 'cable pulled', right, () => left.guest.cable(1, 'off'))
    await left.guest.cable(1, 'on')
  })

  await t.test('clocks are set forward and back by an hour', async (t) => {
    for (const one of [left, right])
      for (const by of ['+1 hour', '-1 hour']) {
        await goesOn(t, `clock of ${one.name} ${by}`, right, () => one.shell(`date -s '${by}'`))
        t.same([await left.holds(), await right.holds()], [false, true], 'no address has moved')
      }
  })

  await t.test('the power of the holder of the address is cut', async (t) => {
    const known = () => left.shell('ipvsadm -Lnc')
    await soon('what the other knows', async () => (await known()).includes('ESTABLISHED'))
    await goesOn(t, 'power cut', left, () => right.guest.cutPower())
    await right.guest.powerOn()
    await right.serve()
    t.ok(await left.holds(), 'it stays where it is')
    t.notOk(await right.holds())
  })

  const { asked, lines } = await session.end()
  t.equal(session.ended(), 'exit code 0')
  t.ok(lines.length === asked && lines.every((line, at) => line === `${at}`), `${asked} lines came back, each once`)
  const received = await download.end()
  t.equal(received.exitCode, 0)
  t.ok(received.isWhole, `a download of ${received.bytes} bytes, each where it should be`)
  t.comment(`session: ${lines.length} of ${asked} lines came back; download: ${received.bytes} bytes`)
})
