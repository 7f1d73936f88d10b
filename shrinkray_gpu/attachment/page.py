from shrinkray_gpu.attachment.dossier import Dossier


def text(dossier: Dossier, scrub: object, files: object) -> str:
    return ""
