import type { LogicalVolume } from '../../model/software.ts'
import { SNAPSHOT_NAME } from './parse.ts'

/** A snapshot that is smaller than this share of its origin would soon be full. */
const SHARE_MIN = 0.1

export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(2)} MiB`
}

/** As large as the origin, or all that is free; or why there is too little. */
export function snapshotSize({ group, size_bytes, free_bytes, extent_bytes }: LogicalVolume): number | string {
  const whole = (bytes: number) => Math.floor(bytes / extent_bytes) * extent_bytes
  const size = whole(Math.min(Math.ceil(size_bytes / extent_bytes) * extent_bytes, free_bytes))
  const needed = size_bytes * SHARE_MIN
  if (size > 0 && size >= needed) return size
  return `the volume group ${group} has ${mebibytes(free_bytes)} free, and a snapshot of ${mebibytes(size_bytes)} needs ${mebibytes(needed)}`
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
/** Begins when the origin is not in use: for the root file system, at the next start of the machine. */
export const mergeArgv = (volume: LogicalVolume) => ['lvconvert', '--yes', '--merge', path(volume)]
export const removeArgv = (volume: LogicalVolume) => ['lvremove', '--yes', path(volume)]
/** Has the end of a merge noticed, which removes the snapshot. */
export const pollArgv = (volume: LogicalVolume) => ['lvchange', '--poll', 'y', origin(volume)]
