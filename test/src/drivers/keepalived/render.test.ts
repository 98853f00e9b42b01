import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { withInterfaceNames } from '../../../../src/drivers/interface-names.ts'
import { loadedName, maskText, renderConfig } from '../../../../src/drivers/keepalived/render.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import { SCHEDULERS } from '../../../../src/model/layer4.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { apart, lacks } from '../../../fixtures/programs-apart.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'

const render = (records: Records) => renderConfig(servedFrontends(viewOf(records)))
const REALS = [realServer('r', { ip: '10.0.0.1', port: 80 }), realServer('six', { ip: 'fd00::1', port: 80 })]

t.test('masks in the notation of each family', (test) => {
  test.equal(maskText('24', false), '255.255.255.0')
  test.equal(maskText('255.255.240.0', false), '255.255.240.0')
  test.equal(maskText('1', false), '128.0.0.0')
  test.equal(maskText('64', true), '64')
  test.end()
})

t.test("a user's name cannot be mistaken for an interface", (test) => {
  const frontend = l4Frontend('fe', 'be', { name: '{interface:%} \\' })
  const text = render({ realServers: REALS, l4Backends: [l4Backend('be', ['r'])], l4Frontends: [frontend] })
  test.match(text, '# interface:%\n')
  test.equal(withInterfaceNames(text, new Map()), text)
  test.end()
})

t.test('the file that proves that keepalived has read this text is named after it', (test) => {
  const text = render({
    realServers: REALS,
    l4Backends: [l4Backend('be', ['r'])],
    l4Frontends: [l4Frontend('fe', 'be')],
  })
  const other = text.replace('wrr', 'lc')
  test.match(loadedName(text), /^loaded\.[\da-f]{16}$/)
  test.equal(loadedName(other), loadedName(text), 'it is read from the text')
  test.not(
    loadedName(
      render({
        realServers: REALS,
        l4Backends: [l4Backend('be', ['r'], { scheduler: 'lc' })],
        l4Frontends: [l4Frontend('fe', 'be')],
      }),
    ),
    loadedName(text),
  )
  test.end()
})

t.test('a scheduler by hash passes over a real server that takes no new clients', (test) => {
  const linesOf = (scheduler: (typeof SCHEDULERS)[number]) =>
    render({
      realServers: REALS,
      l4Backends: [l4Backend('be', ['r'], { scheduler })],
      l4Frontends: [l4Frontend('fe', 'be')],
    })
  test.match(linesOf('sh'), '    lvs_sched sh\n    sh-fallback\n')
  test.match(linesOf('mh'), '    lvs_sched mh\n    mh-fallback\n')
  for (const scheduler of SCHEDULERS.filter((one) => !['sh', 'mh'].includes(one)))
    test.notMatch(linesOf(scheduler), '-fallback\n')
  test.end()
})

t.test(
  'keepalived accepts every scheduler, forwarding method, protocol and family',
  { skip: lacks('keepalived') },
  (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'fulcrum-keepalived-'))
    test.teardown(() => rmSync(folder, { recursive: true }))
    const backends = SCHEDULERS.flatMap((scheduler) => [
      l4Backend(`be-${scheduler}`, ['r'], { scheduler, fallback: { ip: '10.0.0.9', port: 80 } }),
      l4Backend(`six-${scheduler}`, ['six'], { scheduler, persistTimeout: 60, persistMask: '64' }),
    ])
    const odd = l4Frontend('odd', 'be-rr', { name: '} ! # " \\', ip: '192.0.2.99' })
    const frontends = SCHEDULERS.flatMap((scheduler, at) =>
      (['gate', 'masq', 'ipip'] as const).flatMap((forwarding, way) => [
        l4Frontend(`a-${scheduler}-${forwarding}`, `be-${scheduler}`, {
          forwarding,
          ip: `192.0.2.${at + 1}`,
          ports: way === 0 ? '80' : `8${way}0,9${way}00-9${way}10`,
          protocol: way === 1 ? 'udp' : 'tcp',
        }),
        l4Frontend(`b-${scheduler}-${forwarding}`, `six-${scheduler}`, { forwarding, ip: `fd00::${at}:${way}` }),
      ]),
    )
    const file = join(folder, 'keepalived.conf')
    writeFileSync(file, render({ realServers: REALS, l4Backends: backends, l4Frontends: [odd, ...frontends] }))
    const { status, lines } = apart('keepalived', '--config-test', '--use-file', file)
    test.equal(status, 0, lines.join('\n'))
    test.end()
  },
)
