import t from 'tap'
import { parseCpu, parseInterfaces, parseMemory, readMachine } from '../../../src/metrics/machine-figures.ts'

t.test('processor time in seconds, by mode', async (test) => {
  const cpu = parseCpu('cpu  100 20 300 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n')
  test.same(Object.fromEntries(cpu), {
    user: 1,
    nice: 0.2,
    system: 3,
    idle: 40,
    iowait: 0.5,
    irq: 0.06,
    softirq: 0.07,
    steal: 0.08,
  })
})

t.test('memory, or nothing where the kernel reports none', async (test) => {
  test.same(parseMemory('MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n'), {
    size_bytes: 1_024_000,
    available_bytes: 409_600,
  })
  test.equal(parseMemory('MemTotal:  1000 kB\n'), undefined)
})

t.test('interfaces, whatever they are called', async (test) => {
  const head = 'Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes\n'
  const dev = `${head}  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nvlan:7:99 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n`
  test.same(parseInterfaces(dev), [
    { name: 'eth0', values: [1, 2, 3, 4, 9, 10, 11, 12] },
    { name: 'vlan:7', values: [99, 0, 0, 0, 1, 0, 0, 0] },
  ])
})

t.test('of this machine', async (test) => {
  const machine = await readMachine('/')
  test.ok(machine.uptime_s > 0)
  test.ok([...machine.cpu_s.values()].reduce((sum, seconds) => sum + seconds, 0) > 0)
  test.ok((machine.memory?.size_bytes ?? 0) > (machine.memory?.available_bytes ?? Number.POSITIVE_INFINITY))
  test.ok((machine.disk?.size_bytes ?? 0) > 0)
  test.ok(machine.interfaces.some(({ name }) => name === 'lo'))
  test.equal((await readMachine('/nowhere')).disk, undefined, 'a missing folder has no space')
})
