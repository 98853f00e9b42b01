import type { RunResult } from '../../src/drivers/host.ts'

const MEBIBYTE = 1024 * 1024
const EXTENT = 4 * MEBIBYTE

interface Snapshot {
  readonly created: string
  readonly size: number
  used: number
  isMerging: boolean
}

/**
 * LVM as this project uses it, for a machine without a device mapper: a root volume, one snapshot of it, and the output
 * of the real programs (lvm2 2.03.16). Strict: unknown options are refused, as by the real ones.
 */
export class LvmSimulator {
  readonly calls: string[] = []
  #snapshot: Snapshot | undefined
  #merging = false
  readonly #root_bytes: number
  readonly #group_bytes: number
  /** Programs that are not installed. */
  readonly #missing: readonly string[]
  /** Names of other volumes of the group. */
  readonly #others: readonly string[]

  constructor({
    root_mib = 8192,
    free_mib = 2048,
    missing = [] as readonly string[],
    others = [] as readonly string[],
  } = {}) {
    this.#root_bytes = root_mib * MEBIBYTE
    this.#group_bytes = (root_mib + free_mib) * MEBIBYTE
    this.#missing = missing
    this.#others = others
  }

  readonly run = async (argv: readonly string[]): Promise<RunResult> => {
    const words = argv[0] === 'env' ? argv.slice(1).filter((word) => !/^[A-Z_]+=/.test(word)) : argv
    const [program = '', ...args] = words
    if (this.#missing.includes(program)) return fail(127, `env: '${program}': No such file or directory`)
    if (program === 'findmnt') return done('/dev/mapper/vg0-root')
    if (program !== 'lvs') this.calls.push(words.join(' '))
    switch (program) {
      case 'lvs':
        return this.#lvs(args)
      case 'lvcreate':
        return this.#create(args)
      case 'lvconvert':
        return this.#convert(args)
      case 'lvremove':
        return this.#remove(args)
      case 'lvchange':
        return this.#change(args)
      case 'systemctl':
        return done('')
      default:
        return fail(127, `${program} is not installed`)
    }
  }

  /** Writes to the root file system: sets the used percentage of the snapshot. */
  fill(percent: number): void {
    if (this.#snapshot !== undefined) this.#snapshot.used = Math.min(100, percent)
  }

  /** The next start of the machine begins the pending merge. */
  restart(): void {
    if (this.#snapshot?.isMerging === true) this.#merging = true
  }

  #lvs(args: readonly string[]): RunResult {
    const columns = strict(args, {
      '--all': 0,
      '--reportformat': 'json',
      '--units': 'b',
      '--nosuffix': 0,
      '--options': 1,
    })
    if (typeof columns !== 'string') return columns
    const free = this.#group_bytes - this.#root_bytes - (this.#snapshot?.size ?? 0)
    const group = { vg_name: 'vg0', vg_free: `${free}`, vg_extent_size: `${EXTENT}` }
    const snapshot = this.#snapshot
    const type = snapshot?.isMerging === true ? 'O' : snapshot === undefined ? '-' : 'o'
    const root = {
      ...group,
      lv_name: 'root',
      lv_attr: `${type}wi-aos---`,
      lv_size: `${this.#root_bytes}`,
      origin: '',
      data_percent: '',
      lv_time: '2026-01-01 10:00:00 +0000',
      lv_dm_path: '/dev/mapper/vg0-root',
    }
    const rows: Record<string, string>[] = [root]
    for (const name of this.#others)
      rows.push({ ...root, lv_name: name, lv_attr: '-wi-ao----', lv_dm_path: `/dev/mapper/vg0-${name}` })
    if (snapshot !== undefined) rows.push({ ...group, ...rowOf(snapshot) })
    const wanted = columns.split(',')
    const lv = rows.map((row) => Object.fromEntries(wanted.map((column) => [column, row[column] ?? '?'])))
    return done(JSON.stringify({ report: [{ lv }] }))
  }

  #create(args: readonly string[]): RunResult {
    const size = strict(args, { '--yes': 0, '--snapshot': 0, '--name': 'fulcrum', '--size': 1, 'vg0/root': 0 })
    if (typeof size !== 'string') return size
    if (this.#snapshot?.isMerging === true)
      return fail(5, 'Snapshots of an origin that has a merging snapshot is not supported')
    if (this.#snapshot !== undefined || this.#others.includes('fulcrum')) {
      return fail(5, 'Logical Volume "fulcrum" already exists in volume group "vg0"')
    }
    const bytes = Number(/^(\d+)b$/.exec(size)?.[1])
    const extents = Math.ceil(bytes / EXTENT)
    const free = Math.floor((this.#group_bytes - this.#root_bytes) / EXTENT)
    if (!(extents > 0)) return fail(3, `Invalid argument for --size: ${size}`)
    if (extents > free) {
      return fail(5, `Volume group "vg0" has insufficient free space (${free} extents): ${extents} required.`)
    }
    this.#snapshot = { created: '2026-11-20 19:00:00 +0000', size: extents * EXTENT, used: 0, isMerging: false }
    return done('Logical volume "fulcrum" created.')
  }

  #convert(args: readonly string[]): RunResult {
    const known = strict(args, { '--yes': 0, '--merge': 0, 'vg0/fulcrum': 0 })
    if (typeof known !== 'string') return known
    if (this.#snapshot === undefined) return fail(5, 'Failed to find logical volume "vg0/fulcrum"')
    if (this.#snapshot.used >= 100) return fail(5, 'Unable to merge invalidated snapshot LV vg0/fulcrum.')
    this.#snapshot.isMerging = true
    return done(
      'Delaying merge since origin is open.\nMerging of snapshot vg0/fulcrum will occur on next activation of vg0/root.',
    )
  }

  #remove(args: readonly string[]): RunResult {
    const known = strict(args, { '--yes': 0, 'vg0/fulcrum': 0 })
    if (typeof known !== 'string') return known
    if (this.#snapshot === undefined) return fail(5, 'Failed to find logical volume "vg0/fulcrum"')
    if (this.#snapshot.isMerging) return fail(5, "Can't remove merging snapshot logical volume vg0/fulcrum.")
    this.#snapshot = undefined
    return done('Logical volume "fulcrum" successfully removed.')
  }

  #change(args: readonly string[]): RunResult {
    const known = strict(args, { '--poll': 'y', 'vg0/root': 0 })
    if (typeof known !== 'string') return known
    if (this.#merging) {
      this.#snapshot = undefined
      this.#merging = false
    }
    return done('')
  }
}

function rowOf({ created, size, used, isMerging }: Snapshot): Record<string, string> {
  const isFull = used >= 100
  return {
    lv_name: isMerging ? '[fulcrum]' : 'fulcrum',
    lv_attr: isMerging ? 'Swi-a-s---' : isFull ? 'swi-I-s---' : 'swi-a-s---',
    lv_size: `${size}`,
    origin: 'root',
    data_percent: used.toFixed(2),
    lv_time: created,
    lv_dm_path: '/dev/mapper/vg0-fulcrum',
  }
}

/** 0: has no value; a text: has this value; 1: its value is returned. Every word must be there. */
function strict(args: readonly string[], known: Readonly<Record<string, 0 | 1 | string>>): string | RunResult {
  const seen = new Set<string>()
  let answer = ''
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? ''
    const kind = known[word]
    if (kind === undefined) return fail(3, `unrecognized option '${word}'`)
    seen.add(word)
    if (kind === 0) continue
    const value = args[++index] ?? ''
    if (kind === 1) answer = value
    else if (value !== kind) return fail(3, `Invalid argument for ${word}: ${value}`)
  }
  const missing = Object.keys(known).find((word) => !seen.has(word))
  return missing === undefined ? answer : fail(3, `${missing} is missing`)
}

const done = (output: string): RunResult => ({ exitCode: 0, output })
const fail = (exitCode: number, output: string): RunResult => ({ exitCode, output })
