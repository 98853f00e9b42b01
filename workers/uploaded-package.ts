import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { debFields } from '../src/drivers/apt/parse.ts'
import { leavesRoom } from '../src/base/spare-room.ts'
import { removeDurably, renameDurably } from './host/durable-files.ts'
import type { Run } from './host/managed-program.ts'

const QUERY_TIMEOUT_MS = 30_000
/** Reading 96 MiB takes seconds. A package that takes longer unpacks to more than any of these machines holds. */
const READ_TIMEOUT_S = 60
/** Exit code of a program that was ended by its deadline. */
const TIMED_OUT = 124
const AR_MAGIC = '!<arch>\n'
const NO_SPACE = 'cannot be stored: the disk of the state folder is full'
/** Limit of Linux, in bytes. */
const FILE_NAME_MAX = 255
const NAME = /^[a-z0-9][a-z0-9+.-]+$/
const VERSION = /^[0-9][A-Za-z0-9.+:~-]*$/

export interface UploadedPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
}
export interface Upload {
  /** Base64 of a .deb file. */
  readonly text: string
  /** Folder for the packages; one file per package. */
  readonly folder: string
  /** Maximum number of stored packages. */
  readonly files_max: number
}

/** Checks the file and stores it durably as NAME_VERSION_ARCH.deb; or returns the problem and stores nothing. */
export async function keepPackage(
  { text, folder, files_max }: Upload,
  run: Run,
  hasRoom: typeof leavesRoom = leavesRoom,
): Promise<UploadedPackage | { readonly problem: string }> {
  const bytes = decoded(text)
  if (typeof bytes === 'string') return { problem: bytes }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // One upload at a time, so partial files are left from an interrupted one.
  for (const name of await readdir(folder)) if (name.startsWith('.')) await rm(join(folder, name))
  if (!(await hasRoom(folder, bytes.length))) return { problem: NO_SPACE }
  const temporary = join(folder, `.${randomUUID()}.deb`)
  try {
    await writeWhole(temporary, bytes)
    const found = await fieldsOf(temporary, run)
    if ('problem' in found) return found
    const file = fileNameOf(found)
    const others = (await readdir(folder)).filter((name) => /^[a-z0-9].*\.deb$/.test(name))
    const same = others.filter((name) => name.startsWith(`${found.name}_`))
    if (same.length === 0 && others.length >= files_max) {
      return { problem: `${others.length} uploaded packages are already waiting; install them first` }
    }
    await renameDurably(temporary, join(folder, file))
    for (const name of same.filter((other) => other !== file)) await removeDurably(join(folder, name))
    return found
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return { problem: NO_SPACE }
    throw error
  } finally {
    await rm(temporary, { force: true })
  }
}

const fileNameOf = ({ name, version, arch }: UploadedPackage) => `${name}_${version.replaceAll(':', '%3a')}_${arch}.deb`

function decoded(sent: string): Buffer | string {
  // Most uploads contain no white space, and copying a hundred megabytes is expensive.
  const text = /\s/.test(sent) ? sent.replaceAll(/\s+/g, '') : sent
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return 'must be base64'
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('latin1', 0, AR_MAGIC.length) !== AR_MAGIC) return 'is not a Debian package'
  return bytes
}

async function writeWhole(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function fieldsOf(file: string, run: Run): Promise<UploadedPackage | { readonly problem: string }> {
  const fields = await run(['dpkg-deb', '--field', file, 'Package', 'Version', 'Architecture'], QUERY_TIMEOUT_MS)
  if (fields.exitCode !== 0) return { problem: `is not a Debian package: ${firstLine(fields.output, file)}` }
  const found = debFields(fields.output)
  if (!NAME.test(found.name)) return { problem: 'has no valid package name' }
  if (!VERSION.test(found.version)) return { problem: `has no valid version: ${found.version}` }
  if (fileNameOf(found).length > FILE_NAME_MAX)
    return { problem: 'has a name and a version that are too long for a file' }
  const { output } = await run(['dpkg', '--print-architecture'], QUERY_TIMEOUT_MS)
  if (found.arch !== 'all' && found.arch !== output.trim()) {
    return { problem: `is for the architecture ${found.arch}, but this machine is ${output.trim()}` }
  }
  // Reads the whole file, so that a truncated one is found here.
  const contents = await run(['dpkg-deb', '--contents', file], READ_TIMEOUT_S * 1000)
  if (contents.exitCode === TIMED_OUT) return { problem: `contains more than can be read in ${READ_TIMEOUT_S} s` }
  return contents.exitCode === 0 ? found : { problem: `is damaged: ${firstLine(contents.output.slice(-500), file)}` }
}

const firstLine = (output: string, file: string) =>
  (output.trim().split('\n').at(-1) ?? '').replaceAll(file, 'it').slice(0, 200)
