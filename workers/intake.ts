/**
 * Tasks of the intake pool: what was handed in, checked by programs for as long as its maker wants. No plan waits for
 * them.
 */
import { runProgram } from './host/linux-host.ts'
import { keepPackage as keep, type Upload, type UploadedPackage } from './uploaded-package.ts'

export function keepPackage(upload: Upload): Promise<UploadedPackage | { readonly problem: string }> {
  return keep(upload, runProgram)
}
