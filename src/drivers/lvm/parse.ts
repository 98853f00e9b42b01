import type { LogicalVolume, VolumeFacts, VolumeSnapshot } from '../../model/software.ts'

/** Name of this daemon's snapshot, of which there is at most one. */
export const SNAPSHOT_NAME = 'fulcrum'

const COLUMNS = ['vg_name', 'lv_name', 'lv_attr', 'lv_size', 'origin', 'data_percent', 'lv_time', 'lv_dm_path']
const GROUP_COLUMNS = ['vg_free', 'vg_extent_size']

/** Times in UTC, sizes in bytes, including hidden volumes: one that is being merged is hidden. */
export const LVS = [
  'env',
  'TZ=UTC',
  'LC_ALL=C',
  'lvs',
  '--all',
  '--reportformat',
  'json',
  '--units',
  'b',
  '--nosuffix',
  '--options',
  [...COLUMNS, ...GROUP_COLUMNS].join(','),
] as const

type Row = Readonly<Record<string, string>>

/** `source` is the device of the root file system. */
export function parseLvs(output: string, source: string): VolumeFacts {
  const rows = rowsOf(output)
  const row = rows?.find(({ lv_dm_path }) => lv_dm_path === source)
  if (rows === undefined || row === undefined) {
    return { isSupported: false, reason: `the root file system is on ${source}, which is not a logical volume` }
  }
  const named = rows.find(({ vg_name, lv_name }) => vg_name === row['vg_name'] && plainName(lv_name) === SNAPSHOT_NAME)
  const isOurs = named !== undefined && plainName(named['origin']) === row['lv_name']
  return {
    isSupported: true,
    volume: volumeOf(row),
    snapshot: snapshotOf(row, isOurs ? named : undefined),
    isNameTaken: named !== undefined && !isOurs,
  }
}

/** Warnings may precede the report. */
function rowsOf(output: string): readonly Row[] | undefined {
  const start = output.indexOf('{')
  try {
    const { report } = JSON.parse(output.slice(start, output.lastIndexOf('}') + 1)) as { report?: { lv?: Row[] }[] }
    return report?.flatMap(({ lv = [] }) => lv)
  } catch {
    return undefined
  }
}

/** Hidden volumes are in brackets. */
const plainName = (name: string | undefined) => name?.replaceAll(/[[\]]/g, '')

function volumeOf(row: Row): LogicalVolume {
  return {
    group: row['vg_name'] ?? '',
    name: row['lv_name'] ?? '',
    size_bytes: Number(row['lv_size']),
    free_bytes: Number(row['vg_free']),
    extent_bytes: Number(row['vg_extent_size']),
  }
}

function snapshotOf(origin: Row, row: Row = {}): VolumeSnapshot | undefined {
  const { lv_attr: attributes = '', lv_time: created = '', lv_size = '0', data_percent = '' } = row
  const isMerging = origin['lv_attr']?.startsWith('O') === true || attributes.startsWith('S')
  if (attributes === '' && !isMerging) return undefined
  return {
    created,
    size_bytes: Number(lv_size),
    used: data_percent === '' ? undefined : Number(data_percent).toFixed(2),
    state: isMerging ? 'merging' : attributes[4] === 'I' ? 'invalid' : 'available',
  }
}
