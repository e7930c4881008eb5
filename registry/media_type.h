// SPDX-License-Identifier: Apache-2.0
// Media types and annotation keys of model artifacts. Sources: OCI image-spec 1.1 (manifest.md,
// annotations.md, image-layout.md) and the CNCF ModelPack model-spec.
#pragma once

#define PK_MEDIA_MANIFEST     "application/vnd.oci.image.manifest.v1+json"
#define PK_MEDIA_INDEX        "application/vnd.oci.image.index.v1+json"
#define PK_MEDIA_EMPTY        "application/vnd.oci.empty.v1+json"
#define PK_MEDIA_DOCKER_IMAGE "application/vnd.docker.distribution.manifest.v2+json"
#define PK_MEDIA_DOCKER_INDEX "application/vnd.docker.distribution.manifest.list.v2+json"

#define PK_MEDIA_MODEL_MANIFEST "application/vnd.cncf.model.manifest.v1+json"
#define PK_MEDIA_MODEL_CONFIG   "application/vnd.cncf.model.config.v1+json"
#define PK_MEDIA_WEIGHT         "application/vnd.cncf.model.weight.v1.raw"
#define PK_MEDIA_WEIGHT_CONFIG  "application/vnd.cncf.model.weight.config.v1.raw"
#define PK_MEDIA_DATASET        "application/vnd.cncf.model.dataset.v1.raw"

#define PK_ANNOTATION_REF_NAME "org.opencontainers.image.ref.name"
#define PK_ANNOTATION_TITLE    "org.opencontainers.image.title"
#define PK_ANNOTATION_VERSION  "org.opencontainers.image.version"
#define PK_ANNOTATION_CREATED  "org.opencontainers.image.created"
#define PK_ANNOTATION_FILEPATH "org.cncf.model.filepath"

// What a model says of itself; a signature over the manifest's digest covers it.
#define PK_ANNOTATION_MODEL_NAME "dev.picket.model.name"
#define PK_ANNOTATION_MODEL_SEQ  "dev.picket.model.seq"
#define PK_ANNOTATION_TARGET     "dev.picket.target"
#define PK_ANNOTATION_ROLLOUT    "dev.picket.rollout"

// Signatures. Sources: sigstore/cosign specs, sigstore/protobuf-specs, in-toto attestation
// framework v1, OpenSSF Model Signing 1.0.
#define PK_MEDIA_SIMPLE_SIGNING  "application/vnd.dev.cosign.simplesigning.v1+json"
#define PK_ANNOTATION_COSIGN     "dev.cosignproject.cosign/signature"
#define PK_SIMPLE_SIGNING_TYPE   "cosign container image signature"
#define PK_MEDIA_SIGSTORE_BUNDLE "application/vnd.dev.sigstore.bundle.v0.3+json"
#define PK_MEDIA_SIGSTORE_BUNDLE_OLD_STYLE                                                         \
	"application/vnd.dev.sigstore.bundle+json;version=0.3" // the same, as first written
#define PK_ANNOTATION_BUNDLE_CONTENT   "dev.sigstore.bundle.content"
#define PK_ANNOTATION_BUNDLE_PREDICATE "dev.sigstore.bundle.predicateType"
#define PK_MEDIA_INTOTO                "application/vnd.in-toto+json"
#define PK_INTOTO_STATEMENT            "https://in-toto.io/Statement/v1"
#define PK_PREDICATE_COSIGN            "https://sigstore.dev/cosign/sign/v1"
#define PK_PREDICATE_OMS               "https://model_signing/signature/v1.0"
#define PK_MEDIA_IMAGE_CONFIG          "application/vnd.oci.image.config.v1+json"

// The two bytes "{}", which OCI gives a media type of their own; never fetched.
#define PK_EMPTY_TEXT   "{}"
#define PK_EMPTY_DIGEST "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
