import { generateKeyPairSync, randomBytes } from 'node:crypto'
import forge from 'node-forge'

export type Issued = { readonly certificate: string; readonly key: string }

export type CertificateRequest = {
  /** To the API server the name of a user, */
  readonly commonName: string
  /** and the group that the user is in. */
  readonly organization?: string
  readonly notAfter: Date
  /** Where a server listens with it, */
  readonly address?: string
  /** or as which host. */
  readonly host?: string
}

const DAY = 24 * 60 * 60 * 1_000
const DNS_NAME = 2
const IP_ADDRESS = 7

const createKey = (): { readonly key: string; readonly publicKey: string } => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { key: privateKey, publicKey }
}

const sign = (
  { commonName, organization, notAfter }: CertificateRequest,
  extensions: readonly object[],
  authority?: Issued,
): Issued => {
  const { key, publicKey } = createKey()
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey)
  // Positive, as the first digit says, and never the same again: what is expired must not be taken for what is not.
  certificate.serialNumber = `4${randomBytes(16).toString('hex').slice(1)}`
  // Clocks may differ a little, and what is long over also began.
  certificate.validity.notBefore = new Date(Math.min(Date.now(), notAfter.getTime()) - DAY)
  certificate.validity.notAfter = notAfter
  certificate.setSubject([
    ...(organization === undefined ? [] : [{ name: 'organizationName', value: organization }]),
    { name: 'commonName', value: commonName },
  ])
  const issuer = authority === undefined ? certificate : forge.pki.certificateFromPem(authority.certificate)
  certificate.setIssuer(issuer.subject.attributes)
  certificate.setExtensions([...extensions, { name: 'subjectKeyIdentifier' }])
  certificate.sign(forge.pki.privateKeyFromPem(authority?.key ?? key), forge.md.sha256.create())
  return { certificate: forge.pki.certificateToPem(certificate), key }
}

export const createAuthority = (commonName: string): Issued =>
  sign({ commonName, notAfter: new Date(Date.now() + 30 * DAY) }, [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, critical: true },
  ])

/** For a client, and with an address or a host also for a server. */
export const issueCertificate = (authority: Issued, request: CertificateRequest): Issued => {
  const { address, host } = request
  const altNames = [
    ...(address === undefined ? [] : [{ type: IP_ADDRESS, ip: address }]),
    ...(host === undefined ? [] : [{ type: DNS_NAME, value: host }]),
  ]
  return sign(
    request,
    [
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
      { name: 'extKeyUsage', clientAuth: true, serverAuth: altNames.length > 0 },
      ...(altNames.length === 0 ? [] : [{ name: 'subjectAltName', altNames }]),
    ],
    authority,
  )
}
