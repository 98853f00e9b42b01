import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'

const ROUNDS = 10

/** Counts its connections, and sends one word on each. */
async function countingOrigin(test: Test) {
  const origin = { port: 0, taken: 0 }
  const server = createServer((socket) => {
    origin.taken += 1
    socket.on('error', () => undefined).end('served\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  const address = server.address()
  origin.port = typeof address === 'object' && address !== null ? address.port : 0
  return origin
}

/** Uses one connection to its end; returns whether it was served. */
async function served(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (part) => (text += part.toString())).on('error', () => undefined)
  await once(socket, 'close')
  return text === 'served\n'
}

t.test('a server that is removed while it serves loses none of its counts', async (test) => {
  const daemon = await daemonFixture(test)
  const id = async (path: string, body: object) => (await daemon.data('POST', path, body)).id as string
  const [stays, goes] = [await countingOrigin(test), await countingOrigin(test)]
  const real = (name: string, port: number) => id('/ipvsDirector/rips', { name, ip: '127.0.0.1', port })
  const [staying, going] = [await real('stays', stays.port), await real('goes', goes.port)]
  const backend = (...members: readonly string[]) => ({
    name: 'be',
    mode: 'tcp',
    healthCheck: { type: 'none' },
    reals: members.map((ripId) => ({ ripId })),
  })
  const both = backend(staying, going)
  const backendId = await id('/layer7proxy/backends', both)
  const port = await freePort()
  const frontend = { name: 'fe', mode: 'tcp', ip: '127.0.0.1', ports: String(port), defaultBackendId: backendId }
  await id('/layer7proxy/frontends', frontend)
  await daemon.data('PUT', '/services/apply')
  const from = Math.floor(Date.now() / 1000) - 5
  const live = `/${daemon.node}/layer7proxy/stats/frontends`
  await until(
    'figures',
    () => daemon.data('GET', live),
    ([first]) => first?.status === 'OPEN',
  )

  const load = { isOver: false, made: 0, failed: 0 }
  const clients = Array.from({ length: 4 }, async () => {
    while (!load.isOver) {
      load.made += 1
      if (!(await served(port))) load.failed += 1
    }
  })
  for (let round = 0; round < ROUNDS; round++) {
    for (const members of [backend(staying), both]) {
      const before = goes.taken
      if (members !== both)
        await until(
          'its share',
          async () => goes.taken,
          (taken) => taken > before + 5,
        )
      await daemon.data('PUT', `/layer7proxy/backends/${backendId}`, members)
      await daemon.data('PUT', '/services/apply')
    }
  }
  load.isOver = true
  await Promise.all(clients)
  const reloads = /runtime command was refused/g
  test.comment(
    `${load.made} connections, ${goes.taken} at the removed server, ${[...daemon.stderr.matchAll(reloads)].length} reloads`,
  )
  test.equal(load.failed, 0)
  const path = `/${daemon.node}/layer7proxy/stats/rips/backend/${backendId}/history`
  const counted = async () => {
    const window = `start=${from}&end=${Math.floor(Date.now() / 1000)}&resolution=1&consolidation=sum`
    const { reals } = await daemon.data('GET', `${path}?${window}&metrics=sessionRate`)
    const entry = reals.find(({ id: found }: { id: string }) => found === going)
    const values: readonly (number | null)[] = entry.series.sessionRate
    return values.reduce<number>((total, value) => total + (value ?? 0), 0)
  }
  await until('the last seconds', counted, (sum) => sum >= goes.taken).catch(() => undefined)
  test.equal(await counted(), goes.taken)
})
