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

// The two bytes "{}", which OCI gives a media type of their own; never fetched.
#define PK_EMPTY_TEXT   "{}"
#define PK_EMPTY_DIGEST "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
