import type { LogicalVolume } from '../../model/software.ts'
import { SNAPSHOT_NAME } from './parse.ts'

/** A snapshot smaller than this share of its origin would soon be full. */
const SHARE_MIN = 0.1

export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(2)} MiB`
}

/** Returns the size: as large as the origin, or all free space; or why there is too little. */
export function snapshotSize({ group, size_bytes, free_bytes, extent_bytes }: LogicalVolume): number | string {
  const whole = (bytes: number) => Math.floor(bytes / extent_bytes) * extent_bytes
  const size = whole(Math.min(Math.ceil(size_bytes / extent_bytes) * extent_bytes, free_bytes))
  const needed = size_bytes * SHARE_MIN
  if (size > 0 && size >= needed) return size
  return `the volume group ${group} has ${mebibytes(free_bytes)} free, but a snapshot of ${mebibytes(size_bytes)} needs ${mebibytes(needed)}`
}

const path = ({ group }: LogicalVolume) => `${group}/${SNAPSHOT_NAME}`
const origin = ({ group, name }: LogicalVolume) => `${group}/${name}`

export const createArgv = (volume: LogicalVolume, size_bytes: number) => [
  'lvcreate',
  '--yes',
  '--snapshot',
  '--name',
  SNAPSHOT_NAME,
  '--size',
  `${size_bytes}b`,
  origin(volume),
]
/** The merge begins when the origin is not in use: for the root file system, at the next boot. */
export const mergeArgv = (volume: LogicalVolume) => ['lvconvert', '--yes', '--merge', path(volume)]
export const removeArgv = (volume: LogicalVolume) => ['lvremove', '--yes', path(volume)]
/** Makes LVM notice the end of a merge, and remove the snapshot. */
export const pollArgv = (volume: LogicalVolume) => ['lvchange', '--poll', 'y', origin(volume)]
