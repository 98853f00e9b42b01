import { statfs } from 'node:fs/promises'

const MIB = 1024 * 1024
/**
 * Free space to leave on a large disk; on a small one, a fraction of it. The configuration, the audit log and the
 * statistics need it more than an uploaded file.
 */
const SPARE_BYTES = 256 * MIB
const SPARE_PART = 0.05

/** Returns whether the disk of the folder has enough free space left after writing this many bytes. */
export async function leavesRoom(folder: string, bytes: number): Promise<boolean> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return bavail * bsize - bytes >= Math.min(SPARE_BYTES, blocks * bsize * SPARE_PART)
}
