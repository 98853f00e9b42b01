import { ApiError } from '../../base/errors.ts'
import type { UpdateGround } from '../../model/software.ts'

const MEBIBYTE = 1024 * 1024
/** Size of unpacked packages in relation to the download. */
const UNPACKED_FACTOR = 4
/** Bytes to leave free, by path. */
const SPARE: Readonly<Record<string, number>> = { '/': 100 * MEBIBYTE, '/var/cache/apt/archives': 20 * MEBIBYTE }
/** Minimum bytes for another release of the operating system. */
const RELEASE: Readonly<Record<string, number>> = { '/': 1024 * MEBIBYTE, '/boot': 100 * MEBIBYTE }

/** Refuses, with numbers, an update that could not succeed. */
export function refuseGround({ lockedFile, download_bytes, free }: UpdateGround, isRelease = false): void {
  if (lockedFile !== undefined) {
    const message = `Another program uses the package manager (${lockedFile} is locked); try again later`
    throw new ApiError('JOB_IN_PROGRESS', message, { headers: { 'Retry-After': '30' } })
  }
  for (const { path, bytes } of free) {
    const unpacked = path === '/' ? UNPACKED_FACTOR : 1
    const pending = path === '/boot' ? 0 : download_bytes * unpacked
    const needed = (isRelease ? (RELEASE[path] ?? 0) : 0) + (SPARE[path] ?? 0) + pending
    if (bytes >= needed) continue
    const message = `There is too little space on ${path}: ${mebibytes(bytes)} are free, ${mebibytes(needed)} are needed`
    throw new ApiError('NOT_SUPPORTED', message)
  }
}

const mebibytes = (bytes: number) => `${Math.ceil(bytes / MEBIBYTE)} MiB`
