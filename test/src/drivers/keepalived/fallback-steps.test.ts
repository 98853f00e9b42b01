import t from 'tap'
import type { Step } from '../../../../src/drivers/driver.ts'
import {
  fallbackGone,
  fallbackProgram,
  goneFallbacks,
  standIns,
} from '../../../../src/drivers/keepalived/fallback-steps.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import type { RealServer } from '../../../../src/model/real-server.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const PROGRAM = '/etc/keepalived/fulcrum-fallback'
const serve = (
  fallback: { readonly ip: string; readonly port: number } | null,
  ...states: readonly RealServer['state'][]
) =>
  servedFrontends(
    viewOf({
      realServers: states.map((state, at) => realServer(`r${at}`, { ip: `10.0.0.${at + 1}`, port: 80, state })),
      l4Backends: [
        l4Backend(
          'be',
          states.map((_, at) => `r${at}`),
          { fallback },
        ),
      ],
      l4Frontends: [l4Frontend('fe', 'be')],
    }),
  )
const FALLBACK = { ip: '10.0.0.99', port: 80 }
const commands = (steps: readonly Step[]) =>
  steps.map((step) => (step.kind === 'run' ? step.argv.join(' ') : step.kind))

t.test('on an unknown machine, a fallback stands in where no server can take traffic', (test) => {
  const there = `${PROGRAM} add 10.0.0.99:80 -m -t 192.0.2.10:80`
  test.same(commands(standIns(undefined, serve(FALLBACK, 'drained', 'halted'))), [there])
  test.same(standIns(undefined, serve(FALLBACK, 'drained', 'online')), [], 'keepalived reports servers that fail')
  test.same(standIns(undefined, serve(null, 'drained')), [])
  test.end()
})

t.test('after a change the service is checked: the servers may be down already', (test) => {
  const [before, after] = [serve(null, 'online'), serve(FALLBACK, 'online')]
  test.same(commands(standIns(before, after)), [`${PROGRAM} settle 10.0.0.99:80 -m -t 192.0.2.10:80`])
  test.same(standIns(after, after), [])
  test.same(standIns(after, before), [])
  test.end()
})

t.test('a server that is no longer a fallback is taken out', (test) => {
  const [before, other] = [serve(FALLBACK, 'online'), serve({ ip: '10.0.0.98', port: 80 }, 'online')]
  const out = `${PROGRAM} remove 10.0.0.99:80 -m -t 192.0.2.10:80`
  test.same(commands(goneFallbacks(before, other)), [out])
  test.same(commands(goneFallbacks(before, serve(null, 'online'))), [out])
  test.same(goneFallbacks(before, before), [])
  test.same(goneFallbacks(undefined, before), [])
  test.end()
})

t.test('its program exists while there is a fallback', (test) => {
  const [some, none] = [serve(FALLBACK, 'online'), serve(null, 'online')]
  const settle = `#!/bin/sh\n${PROGRAM} settle 10.0.0.99:80 -m -t 192.0.2.10:80\nexit 0\n`
  test.match(fallbackProgram(some), [
    { kind: 'replaceFile', path: PROGRAM, mode: 0o755 },
    { kind: 'replaceFile', path: '/etc/keepalived/fulcrum-settle', mode: 0o755, content: settle },
  ])
  test.same(fallbackProgram(none), [])
  test.match(fallbackGone(some, none), [{ kind: 'removeFile', path: PROGRAM }, { kind: 'removeFile' }])
  test.equal(fallbackGone(undefined, none).length, 2)
  test.same(fallbackGone(none, none), [])
  test.same(fallbackGone(some, some), [])
  test.end()
})
