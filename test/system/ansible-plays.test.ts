import t from 'tap'
import { noAnsible, type Registered, runningShop } from './ansible-site.ts'
import { conversation } from './haproxy-traffic.ts'

/** Plays that drain real servers. */

t.setTimeout(1_800_000)

t.test('plays', { skip: noAnsible }, async (t) => {
  const { site, tcpPort, web1, web2 } = await runningShop(t)
  const { daemon } = site
  const idOf = async (name: string) => (await daemon.data('GET', `/ipvsDirector/rips?name=${name}`))[0].id

  await t.test('a real server: drained, waited for, weighted and automatically brought back', async (test) => {
    const [stagedOther, weighed] = [await idOf('web1'), await idOf('web2')]
    await daemon.data('PUT', `/ipvsDirector/rips/${stagedOther}`, { port: web1, weight: 3 })
    await daemon.data('PUT', `/ipvsDirector/rips/${weighed}`, { port: web2, weight: 9 })
    const open = await conversation(test, tcpPort)
    test.equal(await open.say('hello'), 'raw hello')
    const server = (more: object) => ({ fulcrum_server: { name: 'raw1', ...more } })
    const results: Registered = await site.tasks({
      checked: { ...server({ state: 'drained', weight: 5 }), check_mode: true, diff: true },
      unchanged: { fulcrum_info: { path: '/ipvsDirector/rips', query: { name: 'raw1' } } },
      tooShort: server({ state: 'drained', wait: '1s' }),
      drained: { ...server({ state: 'drained', weight: 5, comment: 'away' }), diff: true },
      again: server({ state: 'drained', weight: 5 }),
      out: server({ state: 'halted', wait: '1s' }),
      back: server({ state: 'online' }),
      others: { fulcrum_server: { name: 'web1', state: 'halted' } },
      otherValue: { fulcrum_server: { name: 'web1', weight: 100 } },
      staged: { fulcrum_server: { name: 'web2', weight: 9 } },
      unknown: { fulcrum_server: { name: 'web9', state: 'online' } },
      heavy: server({ weight: 300 }),
      forever: server({ state: 'drained', wait: 'soon' }),
      aimless: server({ state: 'online', wait: '1s' }),
    })
    test.match(results.checked, { changed: true, diff: { before: { state: 'online', weight: 100 } } })
    test.match(results.unchanged.data, [{ state: 'online', weight: 100 }])
    test.match(results.tooShort, { failed: true, msg: /^After 1 s 1 connection is left; .* stays drained$/ })
    test.match(results.drained, { changed: true, diff: { before: { weight: 100 }, after: { weight: 5 } } })
    test.match(results.again, { changed: false })
    test.match(results.out, { changed: true, connections: 1 })
    test.match(results.back, { changed: true, id: await idOf('raw1') })
    test.match(results.others, { failed: true, msg: /^name: another change of web1 is pending \(weight, by admin@/ })
    test.match(results.otherValue, {
      failed: true,
      msg: /^name: another change of web1 is pending \(weight, by admin@/,
    })
    test.match(results.staged, { changed: true }, 'staged changes that are exactly these go live')
    test.match(results.unknown, { failed: true, msg: /there is no real server web9/ })
    test.match(results.heavy, { failed: true, errors: [{ field: 'weight' }] })
    test.match(results.forever, { failed: true, errors: [{ field: 'wait' }] })
    test.match(results.aimless, { failed: true, msg: /needs state drained or halted/ })
    const { changes } = await daemon.data('GET', '/services/pending')
    test.match(changes, [{ resourceId: stagedOther, after: { weight: 3 } }], 'changes staged by others stay pending')
    test.equal(changes.length, 1)
    test.match(await daemon.data('GET', '/ipvsDirector/rips?name=raw1'), [{ state: 'online', weight: 5 }])
    await daemon.call('DELETE', '/services/pending')
  })

  await t.test('a rerun: the wait of an interrupted run completes', async (test) => {
    const open = await conversation(test, tcpPort)
    test.equal(await open.say('hello'), 'raw hello')
    const raw1 = await idOf('raw1')
    const drained = { fulcrum_server: { name: 'raw1', state: 'drained', wait: '1s', busy_timeout: 20 } }
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/drain?wait=8s`)
    await daemon.data('PUT', '/services/apply', {})
    test.match(await site.tasks({ drained }), { drained: { failed: true, msg: /^After 1 s 1 connection is left/ } })
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/online`)
    await daemon.data('PUT', '/services/apply', {})
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/drain?wait=1s`)
    const results: Registered = await site.tasks({ drained })
    test.match(results.drained.msg, /^After 1 s 1 connection is left/, 'that run waited for an apply')
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/online`)
    await daemon.data('PUT', '/services/apply', {})
  })
})
