import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { screen } from '../../../../src/cli/commands/watch.ts'
import { cliFixture } from '../../../fixtures/cli.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('events are followed until Ctrl-C', async (test) => {
  const { run, call } = await fixture(test)
  const interrupt = new AbortController()
  const following = run('events -k apply', { interrupted: interrupt.signal })
  await sleep(300)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply', { body: { comment: 'a\u001b[2Jb' } })
  await sleep(300)
  interrupt.abort()
  const { exit, out } = await following
  test.equal(exit, 0)
  test.match(out, /^\d{4}-\d\d-\d\dT[\d:]+Z +\d+ apply state=applied by=admin@localhost .*changes=1/)
  test.notMatch(out, '\u001b', 'foreign text moves no cursor')
  test.match(await run('events -k frogs'), { exit: 1, err: /INVALID_QUERY/ })
})

t.test('Ctrl-C ends top, and leaves no open wait', async (test) => {
  const { run } = await fixture(test)
  const interrupt = new AbortController()
  const listeners = () => getEventListeners(interrupt.signal, 'abort').length
  let shown = 0
  const watching = run('top', {
    interrupted: interrupt.signal,
    said: () => {
      shown += 1
      if (shown === 3) interrupt.abort()
    },
  })
  test.match(await watching, { exit: 0 })
  test.same([shown, listeners()], [3, 0])
})

t.test('a follower of events learns that it waits, and that the stream continues', async (test) => {
  const { run } = await fixture(test)
  const interrupt = new AbortController()
  const remarks: string[] = []
  let asked = 0
  const port = await httpServer(test, (_request, response) => {
    asked += 1
    if (asked === 2 || asked === 3) response.destroy()
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('retry: 1\n\nid: 1\ndata: {}\n\n')
      if (asked === 1) response.end()
    }
  })
  const { exit } = await run('events', {
    env: { FULCRUM_URL: `http://127.0.0.1:${port}` },
    interrupted: interrupt.signal,
    remarked: (text) => {
      remarks.push(text)
      if (remarks.length === 2) interrupt.abort()
    },
  })
  test.equal(exit, 0)
  test.same([asked, remarks], [4, ['The stream was interrupted; reconnecting.\n', 'Reconnected.\n']])
})

t.test('Ctrl-C ends a top that gets no answer', async (test) => {
  const { run } = await fixture(test)
  const interrupt = new AbortController()
  const port = await httpServer(test, ({ url }, response) => {
    if (url?.endsWith('/stats') === true) interrupt.abort()
    else response.end(JSON.stringify({ status: 'success', data: { nodes: [{ nodeId: 'n1' }] } }))
  })
  const env = { FULCRUM_URL: `http://127.0.0.1:${port}` }
  test.match(await run('top', { env, interrupted: interrupt.signal }), { exit: 0, out: '', err: '' })
})

t.test('a screen has the busiest objects, as many as fit, and bytes per second', async (test) => {
  const named = (name: string, sessionRate: number, bytesIn: number) => ({ id: name, name, sessionRate, bytesIn })
  const seen = (bytes: number, at_ms: number) => ({
    live: { frontends: [named('a', 1, bytes), named('b', 9, 0)], backends: [named('c', 5, 0), named('d', 0, 0)] },
    at_ms,
  })
  const names = (text: string) => text.split('\n').map((line) => line.split(/ +/)[1])
  const whole = screen(seen(0, 0), undefined, { columns: undefined, rows: undefined })
  test.same(names(whole).slice(1, -1), ['b', 'c', 'a', 'd'])
  test.equal(screen(seen(0, 0), undefined, { columns: 80, rows: 6 }), whole, "with the cursor's line")
  const small = screen(seen(0, 0), undefined, { columns: 80, rows: 5 })
  test.match(small, /^KIND.*\nfrontend +b .*\nbackend +c .*\nand 2 more\n$/)
  const later = screen(seen(6000, 4000), seen(0, 1000), { columns: undefined, rows: undefined })
  test.match(later, /frontend +a +- +1 +- +2k +/, 'of three seconds')
})

t.test('a screen shows the present: answers 5xx per second, and not all since a reload', (test) => {
  const seen = (responses5xx: number, at_ms: number) => ({
    live: { frontends: [{ id: 'a', name: 'a', status: 'OPEN', currentSessions: 1, sessionRate: 2, responses5xx }] },
    at_ms,
  })
  const shown = screen(seen(9, 4000), seen(3, 1000), { columns: undefined, rows: undefined })
  test.match(shown, /OUT\/S +5XX\/S +QUEUE\nfrontend +a .* - +2 +-\n$/)
  test.end()
})

t.test('unknown rates are left out: restarted counters, and a HAProxy that does not answer', async (test) => {
  const seen = (bytesIn: number | null, at_ms: number) => ({
    live: { frontends: [{ id: 'a', name: 'a', status: 'OPEN', currentSessions: 1, sessionRate: 2, bytesIn }] },
    at_ms,
  })
  const rate = (before: number | null, now: number | null) =>
    screen(seen(now, 2000), seen(before, 1000), { columns: undefined, rows: undefined }).split('\n')[1]?.split(/ +/)[6]
  test.same([rate(6000, 10), rate(6000, null), rate(null, 6000), rate(6000, 6000)], ['-', '-', '-', '0'])
})

t.test('the maximum of a history is that of a second, and unknown values are not 0', async (test) => {
  const { run } = await fixture(test)
  const points: (string | null)[] = []
  const told: Readonly<Record<string, readonly (number | null)[]>> = { average: [1, null, 3], maximum: [50, null, 9] }
  const port = await httpServer(test, ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    if (pathname.endsWith('/history')) points.push(searchParams.get('points'))
    const values = told[searchParams.get('consolidation') ?? 'average']
    const series = { bytesIn: values, bytesOut: [null, null, null] }
    const data = pathname.endsWith('/history')
      ? { start: 0, resolution: 3600, metrics: ['bytesIn', 'bytesOut'], series }
      : pathname.endsWith('/services/apply')
        ? { nodes: [{ nodeId: 'n1' }] }
        : pathname.endsWith('/frontends')
          ? [{ id: 'f', name: 'shop' }]
          : []
    response.end(JSON.stringify({ status: 'success', data }))
  })
  const { exit, out } = await run('history shop --since 3h', { env: { FULCRUM_URL: `http://127.0.0.1:${port}` } })
  test.equal(exit, 0)
  test.match(out, /^bytesIn +\S+ \S+ +2 +50$/m)
  test.match(out, /^bytesOut +- +-$/m)
  test.same(
    points,
    ['10080', '10080'],
    'few points, as many as bars, would be without the last minutes or the last hour',
  )
})

t.test('the figures of now and of the past', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/layer7proxy/frontends', { body: { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '8097' } })
  await call('PUT', '/services/apply')
  const top = await run('top -n 1')
  test.match(top, { exit: 0, out: /^KIND +NAME +STATUS +SESSIONS +NEW\/S/ })
  test.match(await run('top -n 0'), { exit: 1, err: /-n 0 is not a number/ })
  const history = await run('history shop --since 5m', { columns: 80 })
  test.match(history, { exit: 0, out: /^METRIC +LAST 5M +MEAN +MOST\ncurrentSessions / })
  test.match((await run('history shop --since 1m --csv --metrics bytesIn')).out, /^time,bytesIn\n\d+,/)
  for (const since of ['2d', '1w'])
    test.match(await run(`history shop --since ${since}`), { exit: 0, out: /^METRIC +LAST/ })
  test.match(JSON.parse((await run('history shop --json')).out), { metrics: ['currentSessions'] })
  await call('POST', '/layer7proxy/backends', { body: { name: 'shop', mode: 'http' } })
  await call('PUT', '/services/apply')
  const long = await run('history shop --kind backend --since 7d', { columns: 80 })
  test.ok(Math.max(...long.out.split('\n').map(({ length }) => length)) <= 80, 'and no line is broken')
  test.match(long.out, /currentSessions +- +-\n/, 'an unknown value is not 0')
  test.match(await run('history shop'), { exit: 1, err: /a frontend and a backend are both named shop: use --kind/ })
  for (const kind of ['frontend', 'backend']) test.match(await run(`history shop --kind ${kind}`), { exit: 0 }, kind)
  test.match(await run('history shop --kind frog'), { exit: 1, err: /--kind frog: use frontend or backend/ })
  test.match(await run('history nope --kind backend'), { exit: 1, err: /there is no backend nope of Layer 7/ })
  test.match(await run('history nope'), { exit: 1, err: /neither a frontend nor a backend nope/ })
  test.match(await run('history shop --since long'), {
    exit: 1,
    err: /long is not a duration: use for example 90s, 5m, 2h or 7d/,
  })
})
