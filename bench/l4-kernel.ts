/**
 * One reading of a real kernel's table, compared with `ipvsadm -Ln --stats --exact` in the same run. It fills and
 * empties the table of its machine, so run it only on a machine set aside for it: `systemd/notify-exec node
 * bench/l4-kernel.ts --this-machine-is-mine` as root.
 */
import { spawnSync } from 'node:child_process'
import { descriptorChannel, descriptorOf } from '../src/ipvs/descriptor.ts'
import { IpvsReader } from '../src/ipvs/reader.ts'
import { ipvsadmRules } from './l4-farm.ts'
import { spread, table } from './measure.ts'

const ROUNDS = 20

function ipvsadm(argv: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('ipvsadm', argv, { input, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0) throw new Error(`ipvsadm ${argv.join(' ')}: ${stderr}`)
  return stdout
}

function measure(size: { readonly services: number; readonly reals: number }, reader: IpvsReader): readonly string[] {
  ipvsadm(['--restore'], `${ipvsadmRules(size).join('\n')}\n`)
  const [ours, theirs]: [number[], number[]] = [[], []]
  let text = ''
  for (let round = 0; round < ROUNDS; round++) {
    let began = performance.now()
    const failure = reader.read()
    if (failure !== undefined) throw new Error(failure)
    ours.push(performance.now() - began)
    began = performance.now()
    text = ipvsadm(['-Ln', '--stats', '--exact'])
    theirs.push(performance.now() - began)
  }
  const { services, dests } = reader.table
  ipvsadm(['-C'])
  const name = `${services.count} services, ${dests.count} destinations`
  return [name, spread(ours, 2), spread(theirs, 2), `${(text.length / 1e6).toFixed(1)} MB`]
}

function main(): void {
  // oxlint-disable-next-line node/no-process-env -- a program of its own
  const fd = descriptorOf(process.env['FULCRUM_GENETLINK'])
  if (fd === undefined || !process.argv.includes('--this-machine-is-mine')) {
    throw new Error('start it with systemd/notify-exec, as root, in a machine that is there for it')
  }
  const reader = new IpvsReader(descriptorChannel(fd))
  const failure = reader.read()
  if (failure !== undefined || reader.table.services.count > 0) throw new Error(failure ?? 'the table is not empty')
  const sizes = [
    { services: 100, reals: 20 },
    { services: 1_000, reals: 20 },
  ]
  const head = ['what', 'over netlink, ms', 'ipvsadm -Ln --stats --exact, ms', 'its text']
  const rows = sizes.map((size) => measure(size, reader))
  table('One reading of the kernel’s table', head, rows)
}

main()
