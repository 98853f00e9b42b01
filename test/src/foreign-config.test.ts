import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keepForeignConfig } from '../../src/foreign-config.ts'
import { supervisedPaths } from '../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../src/drivers/index.ts'
import { configView } from '../../src/config/views.ts'
import { openStore, temporaryFolder } from '../config-fixture.ts'

t.test('a foreign file is kept once; what this daemon renders is not foreign', async (test) => {
  const folder = temporaryFolder(test, 'foreign')
  const configFile = join(folder, 'haproxy.cfg')
  test.equal(keepForeignConfig(configFile, folder), undefined, 'there is no file')
  writeFileSync(configFile, 'global\n  maxconn 7\n')
  const copy = keepForeignConfig(configFile, folder)
  test.equal(readFileSync(copy ?? '', 'utf8'), 'global\n  maxconn 7\n')
  test.equal(statSync(copy ?? '').mode & 0o777, 0o600, 'for nobody else')
  writeFileSync(configFile, 'global\n  maxconn 8\n')
  test.equal(keepForeignConfig(configFile, folder), undefined)
  test.match(readFileSync(copy ?? '', 'utf8'), /maxconn 7/, 'the first one stays')
})

t.test('the rendered file is recognised as ours', async (test) => {
  const folder = temporaryFolder(test, 'ours')
  const [file] = createDrivers({ haproxy: supervisedPaths(folder), stateFolder: folder }, 'node').flatMap((driver) =>
    driver.render(configView(openStore(test).running)),
  )
  writeFileSync(join(folder, 'haproxy.cfg'), file?.content ?? '')
  test.equal(keepForeignConfig(join(folder, 'haproxy.cfg'), folder), undefined)
})
