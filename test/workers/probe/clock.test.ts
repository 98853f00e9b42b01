import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { RunResult, Setting } from '../../../src/drivers/host.ts'
import type { Run } from '../../../workers/host/managed-program.ts'
import { parseTimeZones, parseTracking, readClock, readTimeZones } from '../../../workers/probe/clock.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

/** As chronyc 4.3 prints them. */
const FOLLOWING =
  '0A090001,ntp.example.test,9,1795192130.256698436,-0.000002509,0.000000024,0.000000024,-0.415,-0.000,33.910,0.000010590,0.000014382,2.0,Normal'
const LOST =
  '00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised'
const LOCAL = `7F7F0101,127.127.1.1,8,${LOST.split(',').slice(3, -1).join(',')},Normal`
const SOURCES = `^,*,ntp.example.test,8,6,17,4,0.000000508,0.000000532,0.000005454
^,?,192.0.2.77,0,6,0,4294967295,0.0,0.0,0.0
^,x,liar.example.test,3,6,377,4,1.0,1.0,0.1`

t.test('tracking and sources as chronyc prints them', async (test) => {
  test.same(parseTracking(FOLLOWING, SOURCES), {
    synchronised: true,
    reference: 'ntp.example.test',
    stratum: 9,
    offset_s: 0.000002509,
    servers: [
      { name: 'ntp.example.test', state: 'selected', reachable: true },
      { name: '192.0.2.77', state: 'unusable', reachable: false },
      { name: 'liar.example.test', state: 'false ticker', reachable: true },
    ],
  })
  test.match(parseTracking(LOST, ''), { synchronised: false, reference: null, stratum: 0, offset_s: 0, servers: [] })
  test.match(
    parseTracking(LOCAL, ''),
    { synchronised: true, reference: null, stratum: 8 },
    'its own clock is no server',
  )
  test.match(
    parseTracking(FOLLOWING, `#,*,PHC0,0,4,377,11,0.0,0.0,0.0\n${SOURCES}`)?.servers.map(({ name }) => name),
    ['ntp.example.test', '192.0.2.77', 'liar.example.test'],
    'a clock of the machine is none either',
  )
  for (const text of ['', '506 Cannot talk to daemon', 'a,b,c']) test.equal(parseTracking(text, ''), undefined, text)
})

function machine(chrony: string | undefined, answers: Readonly<Record<string, string>>) {
  const host = {
    readSetting: async ({ kind }: Setting) => (kind === 'timezone' ? 'Europe/Paris' : chrony),
  }
  const run: Run = async (argv): Promise<RunResult> => {
    const output = answers[argv.join(' ')]
    return output === undefined ? { exitCode: 127, output: 'not installed' } : { exitCode: 0, output }
  }
  return readClock(host, run)
}
const NTP = 'timedatectl show --property=NTP --value'

t.test('whether something keeps the clock: chrony, or whatever else systemd knows', async (test) => {
  const kept = async (...args: Parameters<typeof machine>) => (await machine(...args)).ntpEnabled
  test.equal(await kept('enabled', {}), true)
  test.equal(await kept('disabled running', {}), true)
  test.equal(await kept('disabled', { [NTP]: 'yes\n' }), true, 'another service')
  test.equal(await kept(undefined, { [NTP]: 'yes' }), true)
  test.equal(await kept('enabled stopped', { [NTP]: 'no' }), false)
  test.equal(await kept('disabled', {}), false)
  for (const nothing of [undefined, '']) test.equal(await kept(nothing, {}), undefined, 'unknown')
})

t.test('zone and tracking of the machine', async (test) => {
  const tracking = { 'chronyc -c tracking': FOLLOWING }
  test.match(await machine('enabled', tracking), { timezone: 'Europe/Paris', tracking: { stratum: 9, servers: [] } })
  const both = await machine('enabled', { ...tracking, 'chronyc -c -N sources': SOURCES })
  test.equal(both.tracking?.servers.length, 3)
  test.equal((await machine('disabled', {})).tracking, undefined)
})

t.test('time zones are the names in tzdata.zi that have a file', async (test) => {
  const data =
    '# version 2026a\nR f 1916 o\nZ Europe/Paris 0:9:21 - LMT\n0 f WE%sT\nL Etc/UTC UTC\nL Europe/Paris Old/Name\nZ Etc/UTC 0 - UTC\n'
  test.same(parseTimeZones(data), ['Etc/UTC', 'Europe/Paris', 'Old/Name', 'UTC'])
  const folder = temporaryFolder(test, 'zones')
  test.equal(await readTimeZones(folder), undefined, 'tzdata is not installed')
  writeFileSync(join(folder, 'tzdata.zi'), data)
  for (const zone of ['Etc/UTC', 'Europe/Paris', 'UTC']) {
    mkdirSync(join(folder, zone, '..'), { recursive: true })
    writeFileSync(join(folder, zone), '')
  }
  test.same(await readTimeZones(folder), ['Etc/UTC', 'Europe/Paris', 'UTC'])
})

t.test('the tzdata of this machine has the usual names', async (test) => {
  const zones = await readTimeZones()
  if (zones === undefined) return test.pass('there is none')
  for (const zone of ['Etc/UTC', 'Europe/Paris', 'America/Argentina/Salta', 'Asia/Tokyo'])
    test.ok(zones.includes(zone), zone)
  return undefined
})
