import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  CONFIG_FILE,
  FALLBACK_PROGRAM,
  MARKS_FILE,
  SETTLE_PROGRAM,
  WEIGHTS_FOLDER,
} from '../../../../src/drivers/keepalived/paths.ts'

const unit = (name: string) => readFileSync(new URL(`../../../../systemd/${name}`, import.meta.url), 'utf8')

t.test('the units know the paths that the driver writes to', (test) => {
  const [, writable = ''] = /^ReadWritePaths=(.*)$/m.exec(unit('fulcrum.service')) ?? []
  const folders = writable.split(' ').map((path) => path.replace(/^-/, ''))
  for (const path of [CONFIG_FILE, FALLBACK_PROGRAM, MARKS_FILE]) {
    test.ok(
      folders.some((folder) => path.startsWith(`${folder}/`)),
      path,
    )
  }
  test.ok(folders.includes(WEIGHTS_FOLDER))
  test.match(unit('fulcrum.tmpfiles'), new RegExp(`^d ${WEIGHTS_FOLDER} 0755 root root`, 'm'))
  for (const path of [MARKS_FILE, SETTLE_PROGRAM]) test.match(unit('keepalived.service.d/fulcrum.conf'), path)
  const firewall = unit('nftables.service.d/fulcrum.conf')
  for (const moment of ['ExecStartPost', 'ExecReload', 'ExecStopPost'])
    test.match(firewall, new RegExp(`^${moment}=-.*nft --file ${MARKS_FILE}'$`, 'm'))
  test.end()
})
