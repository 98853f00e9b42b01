import { readFileSync } from 'node:fs'
import t from 'tap'
import { supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../../src/drivers/index.ts'
import { PROGRAMS } from '../../../src/drivers/programs.ts'

const programs = Object.values(PROGRAMS)

t.test('a driver of the same name configures each program', async (test) => {
  const drivers = createDrivers({ haproxy: supervisedPaths('/state/haproxy'), stateFolder: '/state' }, 'node')
  const names = new Set(drivers.map(({ name }) => name))
  // The cluster controls etcd, not the configuration.
  for (const name of Object.keys(PROGRAMS)) test.ok(names.has(name) || name === 'etcd', name)
})

t.test('no two programs share a unit, and only the two keepalived share a package or a command', async (test) => {
  const others = Object.entries(PROGRAMS).flatMap(([name, program]) => (name === 'clusterha' ? [] : [program]))
  test.equal(PROGRAMS.clusterha.package, PROGRAMS.ipvsDirector.package)
  for (const all of [
    programs.map(({ unit }) => unit),
    others.map((program) => program.package),
    others.flatMap(({ commands }) => [...commands]),
  ]) {
    test.same(all, [...new Set<string>(all)])
  }
})

t.test('the Debian package of this daemon names the package of each program', async (test) => {
  const control = readFileSync(new URL('../../../systemd/package/control', import.meta.url), 'utf8')
  const named = [...control.matchAll(/^(?:Depends|Recommends|Suggests): (.*)$/gm)].flatMap(([, list = '']) =>
    list.split(', '),
  )
  for (const program of programs)
    test.ok(
      named.some((name) => name.split(' ')[0] === program.package),
      program.package,
    )
})
